package localdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// syncs records what is synced, by its path below the store, and can fail. The
// name "written" is of staged content that is only written out.
type syncs struct {
	dir  string
	fail string // this fails to sync
	mu   sync.Mutex
	list []string
}

// record makes s report its syncs.
func record(t *testing.T, s *Store, dir string) *syncs {
	t.Helper()
	r := &syncs{dir: dir}
	fsync, writeOut := s.fsync, s.writeOut
	s.fsync = func(fd int) error {
		path, err := os.Readlink(procPath(fd))
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		if strings.HasPrefix(name, string(stagingDir)+"/") {
			name = "staged"
		}
		return r.add(name, fsync, fd)
	}
	s.writeOut = func(fd int) error { return r.add("written", writeOut, fd) }
	return r
}

func (r *syncs) add(name string, real func(int) error, fd int) error {
	r.mu.Lock()
	r.list = append(r.list, name)
	fail := r.fail != "" && name == r.fail
	r.mu.Unlock()
	if fail {
		return unix.EIO
	}
	return real(fd)
}

// take returns what was synced since the last take, sorted.
func (r *syncs) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	slices.Sort(list)
	return list
}

func TestEveryWriteSyncsWhatItChanged(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		testSyncs(t, ordered)
	}
}

func testSyncs(t *testing.T, ordered bool) {
	dir := realDir(t)
	s := openStore(t, dir, Options{})
	defer s.Close()
	s.ordered = ordered
	r := record(t, s, dir)
	ctx := context.Background()
	mustMake := func(key backing.Key) { _, err := s.MakeDir(ctx, key, 0o755); must(t, err) }
	mustAppend := func() { _, err := s.Append(ctx, "d/log", []byte("x")); must(t, err) }
	inOrder := []string{"d", "written"}
	for _, step := range []struct {
		what    string
		do      func()
		want    []string
		ordered []string // in an ordered store, where that is something else
	}{
		{what: "MakeDir", do: func() { mustMake("d") }, want: []string{"", "d"}},
		{"create", func() { putString(t, s, "d/a", "1", backing.PutOptions{If: backing.Absent}) },
			[]string{"d", "staged"}, inOrder},
		{"first version", func() { putString(t, s, "d/a", "2", backing.PutOptions{KeepVersion: true}) },
			[]string{".ctxfs/versions", ".ctxfs/versions/d", ".ctxfs/versions/d/a", "d", "staged"}, inOrder},
		{"second version", func() { putString(t, s, "d/a", "3", backing.PutOptions{KeepVersion: true}) },
			[]string{".ctxfs/versions/d/a", "d", "staged"}, inOrder},
		{what: "append", do: mustAppend, want: nil},
		{what: "Sync of a new log", do: func() { must(t, s.Sync(ctx, "d/log")) }, want: []string{"d", "d/log"}},
		{what: "append again", do: mustAppend, want: nil},
		{what: "Sync of a log known", do: func() { must(t, s.Sync(ctx, "d/log")) }, want: []string{"d/log"}},
		{what: "Rename", do: func() { must(t, s.Rename(ctx, "d/log", "log", 0)) }, want: []string{"", "d"}},
		{what: "Remove", do: func() { must(t, s.Remove(ctx, "d/a", "")) }, want: []string{"d"}},
		{what: "RemoveDir", do: func() { must(t, s.RemoveDir(ctx, "d")) }, want: []string{""}},
		{"own directories", func() { putString(t, s, ".ctxfs/vars/x", "1", backing.PutOptions{}) },
			[]string{".ctxfs", ".ctxfs/vars", "staged"}, []string{".ctxfs", ".ctxfs/vars", "written"}},
		{what: "conflict", do: func() { _, _ = s.Put(ctx, "log", strings.NewReader("x"), backing.PutOptions{If: "no", Op: "o"}) }, want: nil},
	} {
		step.do()
		want := step.want
		if ordered && step.ordered != nil {
			want = step.ordered
		}
		if got := r.take(); !slices.Equal(got, want) {
			t.Errorf("ordered %v: %s syncs %q, not %q", ordered, step.what, got, want)
		}
	}
}

func TestAPutThatFailsToSyncDidNotHappen(t *testing.T) {
	for _, broken := range []string{"staged", ".ctxfs/versions/d/a", ".ctxfs/versions/d", ".ctxfs/versions"} {
		testFailedPut(t, false, broken)
	}
	for _, broken := range []string{"written", "d"} {
		testFailedPut(t, true, broken)
	}
}

func testFailedPut(t *testing.T, ordered bool, broken string) {
	for _, keep := range []bool{true, false} {
		if !keep && strings.Contains(broken, "versions") {
			continue
		}
		dir := realDir(t)
		s := openStore(t, dir, Options{})
		s.ordered = ordered
		_, err := s.MakeDir(context.Background(), "d", 0o755)
		must(t, err)
		putString(t, s, "d/a", "old", backing.PutOptions{})
		r := record(t, s, dir)
		r.fail = broken
		_, err = s.Put(context.Background(), "d/a", strings.NewReader("new"), backing.PutOptions{KeepVersion: keep})
		wantErr(t, err, unix.EIO)
		if errors.Is(err, backing.ErrUnknown) {
			t.Errorf("%s: it is known that nothing happened: %v", broken, err)
		}
		wantContent(t, s, "d/a", "old")
		if list, err := s.Versions(context.Background(), "d/a"); err != nil || len(list) != 0 {
			t.Errorf("%s: versions %v, %v", broken, list, err)
		}
		wantEmpty(t, filepath.Join(dir, ".ctxfs/staging"), filepath.Join(dir, ".ctxfs/versions/d/a"))
		must(t, s.Close())
	}
}

// wantEmpty fails where one of dirs holds something; one that is missing does not.
func wantEmpty(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		list, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(list) != 0 {
			t.Errorf("%s holds %v, %v", dir, list, err)
		}
	}
}

func TestARetryAfterAFailedDirectorySyncSyncsAgain(t *testing.T) {
	dir := realDir(t)
	s := openStore(t, dir, Options{})
	defer s.Close()
	s.ordered = false
	ctx := context.Background()
	_, err := s.MakeDir(ctx, "d", 0o755)
	must(t, err)
	old := putString(t, s, "d/a", "old", backing.PutOptions{})
	r := record(t, s, dir)
	r.fail = "d"
	o := backing.PutOptions{KeepVersion: true, If: old.Revision, Op: "op-1"}
	for i := range 3 {
		_, err := s.Put(ctx, "d/a", strings.NewReader("new"), o)
		if !errors.Is(err, backing.ErrUnknown) || !errors.Is(err, unix.EIO) {
			t.Fatalf("try %d: error is %v", i, err)
		}
	}
	r.fail = ""
	r.take()
	putString(t, s, "d/a", "new", o)
	if got := r.take(); !slices.Equal(got, []string{"d", "d/a"}) {
		t.Fatalf("the retry syncs %q", got)
	}
	if list, err := s.Versions(ctx, "d/a"); err != nil || len(list) != 1 {
		t.Fatalf("versions %v, %v", list, err)
	}
}

func TestALargePutIsSyncedBeforeItTakesTheLock(t *testing.T) {
	dir := realDir(t)
	s := openStore(t, dir, Options{})
	defer s.Close()
	for _, ordered := range []bool{false, true} {
		s.ordered = ordered
		synced, locked := false, false
		look := func(fd int) error {
			s.keys.mu.Lock()
			_, locked = s.keys.locks["a"]
			s.keys.mu.Unlock()
			synced = true
			return nil
		}
		s.writeOut = look
		s.fsync = func(fd int) error {
			if synced {
				return nil
			}
			return look(fd)
		}
		putString(t, s, "a", strings.Repeat("x", parallelSync+1), backing.PutOptions{})
		if !synced || locked {
			t.Fatalf("ordered %v: synced %v; other puts of the key wait for the disk: %v", ordered, synced, locked)
		}
	}
}

func TestAnEditByAnotherProgramWhileAPutSyncsIsNotLost(t *testing.T) {
	for _, conditional := range []bool{false, true} {
		dir := realDir(t)
		s := openStore(t, dir, Options{})
		s.ordered = false
		m := putString(t, s, "a", "old", backing.PutOptions{})
		real, edited := s.fsync, false
		var once sync.Once
		s.fsync = func(fd int) error {
			var err error
			once.Do(func() {
				edited = true
				tmp := filepath.Join(dir, "tmp")
				err = errors.Join(os.WriteFile(tmp, []byte("edited"), 0o600), os.Rename(tmp, filepath.Join(dir, "a")))
			})
			return errors.Join(err, real(fd))
		}
		o := backing.PutOptions{KeepVersion: true}
		if conditional {
			o.If = m.Revision
		}
		_, err := s.Put(context.Background(), "a", strings.NewReader("new"), o)
		if !edited {
			t.Fatal("nothing was edited")
		}
		kept, verr := s.Versions(context.Background(), "a")
		must(t, verr)
		if conditional {
			wantErr(t, err, backing.ErrConflict)
			wantContent(t, s, "a", "edited")
			if len(kept) != 0 {
				t.Errorf("versions %+v", kept)
			}
		} else {
			must(t, err)
			wantContent(t, s, "a", "new")
			if len(kept) != 1 || kept[0].Size != int64(len("edited")) {
				t.Errorf("versions %+v", kept)
			}
			if st, err := s.Stat(context.Background(), "a"); err != nil || st.Mode != 0o600 {
				t.Errorf("meta %+v, %v", st, err)
			}
		}
		must(t, s.Close())
	}
}

// realDir is a temporary directory by the path that /proc shows.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(fmt.Errorf("temporary directory: %w", err))
	}
	return dir
}

func TestAMakeDirThatFailsLeavesNoDirectory(t *testing.T) {
	for _, broken := range []string{"d", ""} {
		dir := realDir(t)
		s := openStore(t, dir, Options{})
		r := record(t, s, dir)
		real := s.fsync
		failed := false
		s.fsync = func(fd int) error {
			err := real(fd)
			if list := r.take(); len(list) == 1 && list[0] == broken {
				failed = true
				return unix.EIO
			}
			return err
		}
		_, err := s.MakeDir(context.Background(), "d", 0o755)
		wantErr(t, err, unix.EIO)
		if _, err := os.Stat(filepath.Join(dir, "d")); !failed || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the sync of %q failed: %v; the directory: %v", broken, failed, err)
		}
		s.fsync = fsync
		_, err = s.MakeDir(context.Background(), "d", 0o755)
		must(t, err)
		must(t, s.Close())
	}
}

func TestAChangeOfNamesThatFailsToSyncIsUnknown(t *testing.T) {
	dir := realDir(t)
	s := openStore(t, dir, Options{})
	defer s.Close()
	ctx := context.Background()
	putString(t, s, "a", "1", backing.PutOptions{})
	putString(t, s, "b", "1", backing.PutOptions{})
	_, err := s.MakeDir(ctx, "d", 0o755)
	must(t, err)
	s.fsync = func(int) error { return unix.EIO }
	for what, err := range map[string]error{
		"rename":           s.Rename(ctx, "a", "c", 0),
		"remove":           s.Remove(ctx, "b", ""),
		"remove directory": s.RemoveDir(ctx, "d"),
	} {
		t.Log(what)
		wantErr(t, err, unix.EIO)
		wantErr(t, err, backing.ErrUnknown)
	}
}

func TestAnUploadThatFailedToSyncIsNotTriedAgain(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		dir := realDir(t)
		s := openStore(t, dir, Options{})
		s.ordered = ordered
		old := putString(t, s, "a", "old", backing.PutOptions{})
		r := record(t, s, dir)
		r.fail = "staged"
		if ordered {
			r.fail = "written"
		}
		up, err := s.NewUpload(context.Background())
		must(t, err)
		_, err = up.WriteAt([]byte("new"), 0)
		must(t, err)
		_, err = s.Put(context.Background(), "a", up.(*upload), backing.PutOptions{})
		wantErr(t, err, unix.EIO)
		r.fail = "" // the kernel says so once only
		_, err = s.Put(context.Background(), "a", up.(*upload), backing.PutOptions{})
		wantErr(t, err, unix.EIO)
		_, err = up.ReadAt(make([]byte, 3), 0)
		wantErr(t, err, unix.EIO)
		must(t, up.Close())
		wantContent(t, s, "a", "old")
		if m, err := s.Stat(context.Background(), "a"); err != nil || m.Revision != old.Revision {
			t.Errorf("%+v, %v", m, err)
		}
		wantEmpty(t, filepath.Join(dir, ".ctxfs/staging"))
		must(t, s.Close())
	}
}
