package localdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

func TestALockedStoreSaysWhoHasItAndSinceWhen(t *testing.T) {
	dir := t.TempDir()
	before := time.Now().Add(-2 * time.Second)
	child, said := startChild(t, holdEnv, dir)
	name := next(t, said)
	_, err := Open(dir, Options{})
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("error is %v", err)
	}
	if locked.PID != child.Process.Pid || locked.Dir != dir || locked.Since.Before(before) || locked.Since.After(time.Now()) || locked.Program != filepath.Base(os.Args[0]) {
		t.Errorf("%+v", locked)
	}
	if text := err.Error(); !strings.Contains(text, fmt.Sprintf("pid %d", child.Process.Pid)) || !strings.Contains(text, dir) {
		t.Errorf("message %q", text)
	}
	reader := openStore(t, dir, Options{ReadOnly: true})
	must(t, reader.Close())

	must(t, child.Process.Kill())
	_ = child.Wait() // "signal: killed"
	if _, err := os.Stat(filepath.Join(dir, ".ctxfs/staging", name)); err != nil {
		t.Fatalf("the killed process left nothing: %v", err)
	}
	s := openStore(t, dir, Options{})
	defer s.Close()
	if list, err := os.ReadDir(filepath.Join(dir, ".ctxfs/staging")); err != nil || len(list) != 0 {
		t.Errorf("staging holds %v, %v", list, err)
	}
}

func TestAClosedStoreIsFreeWhileAProgramIsBeingStarted(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	copied, err := unix.Dup(s.lockFD) // as fork(2) does
	must(t, err)
	defer unix.Close(copied)
	must(t, s.Close())
	must(t, openStore(t, dir, Options{}).Close())
}

func TestASecondOpenInTheSameProcessIsLockedOut(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	_, err := Open(dir, Options{})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("error is %v", err)
	}
	must(t, s.Close())
	must(t, openStore(t, dir, Options{}).Close())
}

func TestALayoutIsWrittenAndANewerOneRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, openStore(t, dir, Options{}).Close())
	layout := filepath.Join(dir, ".ctxfs/layout")
	if text, err := os.ReadFile(layout); err != nil || string(text) != "1\n" {
		t.Fatalf("layout %q, %v", text, err)
	}
	for text, want := range map[string]string{"2\n": "newer ctxfs", "x\n": "no layout version"} {
		must(t, os.WriteFile(layout, []byte(text), 0o644))
		for _, readOnly := range []bool{false, true} {
			_, err := Open(dir, Options{ReadOnly: readOnly})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("layout %q: error is %v", text, err)
			}
		}
	}
	must(t, os.WriteFile(layout, nil, 0o644)) // a crash while it was made
	must(t, openStore(t, dir, Options{}).Close())
}

func TestAStoreIsMadeWithItsParents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/b/c")
	s := openStore(t, dir, Options{})
	putString(t, s, "k", "x", backing.PutOptions{})
	must(t, s.Close())
	if _, err := Open(filepath.Join(dir, "k"), Options{}); err == nil {
		t.Fatal("a file was opened as a store")
	}
	if _, err := Open(filepath.Join(dir, "no"), Options{ReadOnly: true}); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("error is %v", err)
	}
}

func TestAReadOnlyStoreReadsAndRefusesEveryWrite(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	putString(t, s, "a", "1", backing.PutOptions{})
	putString(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
	must(t, s.Close())
	r := openStore(t, dir, Options{ReadOnly: true})
	defer r.Close()
	wantRefusedWrites(t, r)
	if list, err := r.Versions(context.Background(), "a"); err != nil || len(list) != 1 {
		t.Fatalf("versions %v, %v", list, err)
	}
}

func TestAReadOnlyFileSystemMakesAReadOnlyStore(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: nothing can be mounted, so this is not tested")
		return
	}
	dir := mountTmpfs(t, "size=4m")
	s := openStore(t, dir, Options{})
	putString(t, s, "a", "2", backing.PutOptions{})
	must(t, s.Close())
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	r := openStore(t, dir, Options{})
	defer r.Close()
	wantRefusedWrites(t, r)
}

// wantRefusedWrites expects an object a with content "2".
func wantRefusedWrites(t *testing.T, r *Store) {
	t.Helper()
	ctx := context.Background()
	if !r.ReadOnly() {
		t.Fatal("it does not say that it is read-only")
	}
	_, err := r.Put(ctx, "a", strings.NewReader("3"), backing.PutOptions{})
	wantErr(t, err, backing.ErrReadOnly)
	_, err = r.Append(ctx, "a", nil)
	wantErr(t, err, backing.ErrReadOnly)
	_, err = r.NewUpload(ctx)
	wantErr(t, err, backing.ErrReadOnly)
	_, err = r.SetAttr(ctx, "a", backing.AttrChange{})
	wantErr(t, err, backing.ErrReadOnly)
	_, err = r.MakeDir(ctx, "d", 0o755)
	wantErr(t, err, backing.ErrReadOnly)
	_, err = r.OpenFile(ctx, "b", os.O_WRONLY|os.O_CREATE, 0o644)
	wantErr(t, err, backing.ErrReadOnly)
	for _, err := range []error{
		r.Remove(ctx, "a", ""), r.RemoveDir(ctx, "d"), r.Rename(ctx, "a", "b", 0), r.Unlink(ctx, "a"), r.Symlink(ctx, "a", "b"), r.Sync(ctx, "a"),
	} {
		wantErr(t, err, backing.ErrReadOnly)
	}
	f, err := r.OpenFile(ctx, "a", os.O_RDONLY, 0)
	must(t, err)
	must(t, f.Close())
	wantContent(t, r, "a", "2")
}

func TestAClosedStoreRefusesAndItsContentsStayReadable(t *testing.T) {
	s := newStore(t)
	putString(t, s, "a", "body", backing.PutOptions{})
	c, err := s.Open(context.Background(), "a", "")
	must(t, err)
	u, err := s.NewUpload(context.Background())
	must(t, err)
	must(t, s.Close())
	if s.Close() == nil {
		t.Error("it was closed twice")
	}
	if _, err := s.Stat(context.Background(), "a"); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
	if _, err := s.Watch(context.Background(), ""); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
	buf := make([]byte, 4)
	if _, err := c.ReadAt(buf, 0); err != nil || string(buf) != "body" {
		t.Errorf("read %q, %v", buf, err)
	}
	must(t, c.Close())
	must(t, u.Close())
}

func wantContent(t testing.TB, s *Store, key backing.Key, want string) {
	t.Helper()
	c, err := s.Open(context.Background(), key, "")
	must(t, err)
	buf := make([]byte, c.Size())
	if len(buf) > 0 {
		_, err = c.ReadAt(buf, 0)
		must(t, err)
	}
	must(t, c.Close())
	if string(buf) != want {
		t.Fatalf("%s holds %.100q, not %.100q", key, buf, want)
	}
}

// mountTmpfs mounts a tmpfs for the length of the test.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func exchange(a, b string) {
	// Both are always there; whether it worked shows in what is tested.
	_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
