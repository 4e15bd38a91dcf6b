package localdir

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/backing/storetest"
)

func TestAVersionThatACrashLeftIsHiddenAndItsNumberUsedAgain(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	putString(t, s, "a", "1", backing.PutOptions{KeepVersion: true})
	putString(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
	must(t, s.Close())
	// The state between the link and the rename.
	must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, ".ctxfs/versions/a/2")))

	s = openStore(t, dir, Options{})
	defer s.Close()
	list, err := s.Versions(context.Background(), "a")
	must(t, err)
	if len(list) != 1 || list[0].N != 1 {
		t.Fatalf("versions %+v", list)
	}
	_, err = s.OpenVersion(context.Background(), "a", 2)
	wantErr(t, err, backing.ErrNotFound)
	cur, err := s.Stat(context.Background(), "a")
	must(t, err)
	putString(t, s, "a", "3", backing.PutOptions{KeepVersion: true})
	list, err = s.Versions(context.Background(), "a")
	must(t, err)
	if len(list) != 2 || list[1].N != 2 || list[1].Revision != cur.Revision {
		t.Fatalf("versions %+v", list)
	}
	putString(t, s, "a", "4", backing.PutOptions{KeepVersion: true})
	if list, err = s.Versions(context.Background(), "a"); err != nil || len(list) != 3 {
		t.Fatalf("versions %+v, %v", list, err)
	}
	storetest.CheckConsistent(t, s)
}

func TestAStrayVersionStaysAsItWasWhenTheObjectIsChanged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	putString(t, s, "a", "1", backing.PutOptions{})
	must(t, os.MkdirAll(filepath.Join(dir, ".ctxfs/versions/a"), 0o755))
	must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, ".ctxfs/versions/a/7")))
	_, err := s.Append(context.Background(), "a", []byte("+"))
	must(t, err)
	putString(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
	list, err := s.Versions(context.Background(), "a")
	must(t, err)
	if len(list) != 1 || list[0].N != 7 || list[0].Size != 2 {
		t.Fatalf("versions %+v", list)
	}
}

func TestAFullDiskFailsCleanly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: nothing can be mounted, so this is not tested")
		return
	}
	dir := mountTmpfs(t, "size=1m")
	s := openStore(t, dir, Options{})
	defer s.Close()
	ctx := context.Background()
	putString(t, s, "a", "old", backing.PutOptions{})
	big := strings.Repeat("x", 2<<20)
	_, err := s.Put(ctx, "a", strings.NewReader(big), backing.PutOptions{KeepVersion: true})
	wantErr(t, err, syscall.ENOSPC)
	wantContent(t, s, "a", "old")
	if list, err := os.ReadDir(filepath.Join(dir, ".ctxfs/staging")); err != nil || len(list) != 0 {
		t.Fatalf("staging holds %v, %v", list, err)
	}
	u, err := s.NewUpload(ctx)
	must(t, err)
	_, err = u.WriteAt([]byte(big), 0)
	wantErr(t, err, syscall.ENOSPC)
	must(t, u.Close())

	wantWholeAppends(t, s)
	must(t, s.Remove(ctx, "log", ""))
	putString(t, s, "a", "new", backing.PutOptions{})
	storetest.CheckConsistent(t, s)
}

// wantWholeAppends appends until the disk is full: what did not fit as a
// whole leaves nothing.
func wantWholeAppends(t *testing.T, s *Store) {
	t.Helper()
	line := strings.Repeat("l", 9999) + "\n"
	for n := int64(1); ; n++ {
		m, err := s.Append(context.Background(), "log", []byte(line))
		if err == nil {
			if m.Size != n*int64(len(line)) {
				t.Fatalf("%d appends, size %d", n, m.Size)
			}
			continue
		}
		wantErr(t, err, syscall.ENOSPC)
		if m, err = s.Stat(context.Background(), "log"); err != nil || m.Size != (n-1)*int64(len(line)) {
			t.Fatalf("%d whole appends, size %d, %v", n-1, m.Size, err)
		}
		return
	}
}

func TestAnObjectWithoutRoomForItsNameStillStages(t *testing.T) {
	s := newStore(t)
	defer s.Close()
	key := backing.Key(strings.Repeat("n", 255))
	putString(t, s, key, "1", backing.PutOptions{})
	putString(t, s, key, "2", backing.PutOptions{KeepVersion: true})
	_, err := s.Stat(context.Background(), backing.Key(strings.Repeat("d/", 2500)+"x"))
	wantErr(t, err, backing.ErrNameTooLong)
}

func TestAnEditByAnotherProgramIsAnotherRevision(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	m := putString(t, s, "a", "body", backing.PutOptions{})
	f, err := os.OpenFile(filepath.Join(dir, "a"), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("BODY")
	must(t, err)
	must(t, f.Close())
	_, err = s.Put(context.Background(), "a", strings.NewReader("x"), backing.PutOptions{If: m.Revision})
	wantErr(t, err, backing.ErrConflict)
	_, err = s.Open(context.Background(), "a", m.Revision)
	wantErr(t, err, backing.ErrNotFound)
	wantContent(t, s, "a", "BODY")
}

func TestAStoreWhoseOwnDirectoryWasRemovedGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	putString(t, s, "a", "1", backing.PutOptions{KeepVersion: true})
	must(t, os.RemoveAll(filepath.Join(dir, ".ctxfs")))
	putString(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
	u, err := s.NewUpload(context.Background())
	must(t, err)
	_, err = s.Put(context.Background(), "a", u.(io.Reader), backing.PutOptions{KeepVersion: true})
	must(t, err)
	must(t, u.Close())
	if list, err := s.Versions(context.Background(), "a"); err != nil || len(list) != 2 {
		t.Fatalf("versions %+v, %v", list, err)
	}
}

func TestAFailedSyncOfAppendsIsNeverForgotten(t *testing.T) {
	s := newStore(t)
	defer s.Close()
	ctx := context.Background()
	m, err := s.Append(ctx, "log", []byte("x"))
	must(t, err)
	st, err := s.stat("log")
	must(t, err)
	s.appends.synced("log", st.Ino, unix.EIO)
	for range 2 {
		wantErr(t, s.Sync(ctx, "log"), unix.EIO)
	}
	_, err = s.Append(ctx, "log", []byte("y"))
	must(t, err)
	wantErr(t, s.Sync(ctx, "log"), unix.EIO)
	must(t, s.Remove(ctx, "log", ""))
	if n, err := s.Append(ctx, "log", []byte("z")); err != nil || n.Revision == m.Revision {
		t.Fatalf("meta %+v, %v", n, err)
	}
	must(t, s.Sync(ctx, "log"))
}

func TestDescriptorsAreGivenBackByFailures(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	putString(t, s, "a", "x", backing.PutOptions{})
	must(t, os.Symlink("a", filepath.Join(dir, "l")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "f"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	before := openDescriptors(t)
	for range 20 {
		for _, key := range []backing.Key{"l", "f", "d", "no", "no/no", "a/b", "l/x"} {
			everyFailure(t, s, key)
		}
	}
	if after := openDescriptors(t); after != before {
		t.Fatalf("%d descriptors, %d before", after, before)
	}
}

func everyFailure(t *testing.T, s *Store, key backing.Key) {
	t.Helper()
	ctx := context.Background()
	if c, err := s.Open(ctx, key, ""); err == nil {
		t.Fatalf("%s was opened: %v", key, c.Close())
	}
	_, err := s.Put(ctx, key, strings.NewReader("x"), backing.PutOptions{If: "no", Op: "op"})
	if err == nil {
		t.Fatalf("%s was put", key)
	}
	_, err = s.Put(ctx, key, errReader{}, backing.PutOptions{})
	if err == nil {
		t.Fatalf("%s was put", key)
	}
	_, err = s.OpenVersion(ctx, key, 1)
	wantErr(t, err, backing.ErrNotFound)
	_, _ = s.Stat(ctx, key)
	_, _ = s.Versions(ctx, key)
	_ = s.Rename(ctx, key, "no/no", 0)
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}
