package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"ctxfs/backing"
)

const (
	renameNoReplace = 1 // of renameat2(2)
	renameExchange  = 2
)

// asFiles returns the capability that RunFiles is about.
func asFiles(t testing.TB, s backing.Store) backing.Files {
	t.Helper()
	f, is := s.(backing.Files)
	if !is {
		t.Fatalf("%T is not a backing.Files", s)
	}
	return f
}

func openFile(t testing.TB, s backing.Store, key backing.Key, flags int) backing.File {
	t.Helper()
	f, err := asFiles(t, s).OpenFile(context.Background(), key, flags, 0o644)
	ok(t, err)
	return f
}

var fileTests = []test{
	{"AFileIsWrittenInPlace", func(t *testing.T, s backing.Store) {
		f := openFile(t, s, "a.swp", os.O_RDWR|os.O_CREATE)
		write(t, f, "hello", 0)
		write(t, f, "J", 0)
		buf := make([]byte, 10)
		n, err := f.ReadAt(buf, 0)
		if string(buf[:n]) != "Jello" || err != io.EOF {
			t.Fatalf("read %q, %v", buf[:n], err)
		}
		ok(t, f.Truncate(2))
		ok(t, f.Sync())
		m, err := f.Stat()
		ok(t, err)
		if m.Size != 2 || m.Key != "a.swp" || m.Mode != 0o644 {
			t.Fatalf("meta %+v", m)
		}
		if int(f.Fd()) < 0 {
			t.Fatalf("descriptor %d", f.Fd())
		}
		ok(t, f.Close())
		if f.Close() == nil {
			t.Fatal("a file was closed twice")
		}
		wantBody(t, s, "a.swp", "Je")
	}},
	{"FlagsMeanWhatTheyMeanInOpen", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		put(t, s, "a", "body", backing.PutOptions{})
		for _, c := range []struct {
			key   backing.Key
			flags int
			err   error
		}{
			{"no", os.O_RDWR, backing.ErrNotFound},
			{"no/a", os.O_RDWR | os.O_CREATE, backing.ErrNotFound},
			{"a", os.O_RDWR | os.O_CREATE | os.O_EXCL, backing.ErrExists},
			{"a/b", os.O_RDWR | os.O_CREATE, backing.ErrNotDir},
		} {
			_, err := files.OpenFile(ctx, c.key, c.flags, 0o644)
			fails(t, err, c.err)
		}
		f := openFile(t, s, "a", os.O_RDONLY)
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("a file opened for reading was written")
		}
		ok(t, f.Close())
		f = openFile(t, s, "a", os.O_WRONLY|os.O_APPEND)
		write(t, f, "+", 0)
		ok(t, f.Close())
		wantBody(t, s, "a", "body+")
		f = openFile(t, s, "a", os.O_WRONLY|os.O_TRUNC|os.O_CREATE)
		ok(t, f.Close())
		wantBody(t, s, "a", "")
	}},
	{"ModesAreExactAndNeverSpecial", func(t *testing.T, s backing.Store) {
		f, err := asFiles(t, s).OpenFile(context.Background(), "a", os.O_WRONLY|os.O_CREATE, 0o666|os.ModeSetuid|os.ModeSticky)
		ok(t, err)
		m, err := f.Stat()
		ok(t, err)
		ok(t, f.Close())
		if m.Mode != 0o666 {
			t.Fatalf("mode %v", m.Mode)
		}
	}},
	{"ADirectoryIsNoFile", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		for _, flags := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
			_, err := asFiles(t, s).OpenFile(context.Background(), "d", flags, 0o644)
			fails(t, err, backing.ErrIsDir)
		}
		fails(t, asFiles(t, s).Unlink(context.Background(), "d"), backing.ErrIsDir)
	}},
	{"UnlinkRemovesAFile", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		f := openFile(t, s, "a", os.O_RDWR|os.O_CREATE)
		ok(t, files.Unlink(ctx, "a"))
		write(t, f, "still open", 0)
		ok(t, f.Sync())
		ok(t, f.Close())
		wantGone(t, s, "a")
		fails(t, files.Unlink(ctx, "a"), backing.ErrNotFound)
	}},
	{"OnlyOneOf16ExclusiveCreatorsWins", func(t *testing.T, s backing.Store) {
		files := asFiles(t, s)
		won := 0
		for _, err := range together(16, func(int) error {
			f, err := files.OpenFile(context.Background(), "a", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			return f.Close()
		}) {
			if err == nil {
				won++
				continue
			}
			fails(t, err, backing.ErrExists)
		}
		if won != 1 {
			t.Fatalf("%d won", won)
		}
	}},
	{"StatFSSaysHowFullItIs", func(t *testing.T, s backing.Store) {
		st, err := asFiles(t, s).StatFS(context.Background())
		ok(t, err)
		if st.BlockSize == 0 || st.Blocks == 0 || st.Free > st.Blocks || st.Available > st.Free || st.NameLen < 255 {
			t.Fatalf("%+v", st)
		}
	}},
}

var linkTests = []test{
	{"ASymbolicLinkSaysItsTargetAndIsNotFollowed", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		put(t, s, "target", "secret", backing.PutOptions{})
		makeDir(t, s, "d")
		put(t, s, "d/a", "secret", backing.PutOptions{})
		ok(t, files.Symlink(ctx, "target", ".#a"))
		ok(t, files.Symlink(ctx, "d", "l"))
		said, err := files.Readlink(ctx, ".#a")
		ok(t, err)
		m, err := s.Stat(ctx, ".#a")
		ok(t, err)
		if said != "target" || !m.Link || m.Dir || m.Special {
			t.Fatalf("it says %q, meta %+v", said, m)
		}
		_, err = s.Open(ctx, ".#a", "")
		fails(t, err, backing.ErrNotRegular)
		_, err = files.OpenFile(ctx, ".#a", os.O_RDWR|os.O_CREATE, 0o644)
		fails(t, err, backing.ErrNotRegular)
		fails(t, tryPut(s, ".#a", "x", backing.PutOptions{}), backing.ErrNotRegular)
		_, err = s.Append(ctx, ".#a", []byte("x"))
		fails(t, err, backing.ErrNotRegular)
		_, err = s.Stat(ctx, "l/a")
		fails(t, err, backing.ErrNotDir, backing.ErrNotFound)
		_, err = s.List(ctx, "l", "", 1)
		fails(t, err, backing.ErrNotDir)
		fails(t, tryPut(s, "l/b", "x", backing.PutOptions{}), backing.ErrNotDir)
		wantBody(t, s, "target", "secret")
		ok(t, files.Unlink(ctx, ".#a"))
		wantBody(t, s, "target", "secret")
	}},
	{"SymlinkOverSomethingAndReadlinkOfAFileAreRefused", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		put(t, s, "a", "x", backing.PutOptions{})
		fails(t, files.Symlink(ctx, "t", "a"), backing.ErrExists)
		_, err := files.Readlink(ctx, "a")
		fails(t, err, syscall.EINVAL)
		_, err = files.Readlink(ctx, "no")
		fails(t, err, backing.ErrNotFound)
	}},
}

var renameTests = []test{
	{"RenameMovesAndReplaces", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		makeDir(t, s, "d")
		put(t, s, "a", "A", backing.PutOptions{})
		put(t, s, "d/b", "B", backing.PutOptions{})
		ok(t, files.Rename(ctx, "a", "d/b", 0))
		wantGone(t, s, "a")
		wantBody(t, s, "d/b", "A")
		ok(t, files.Rename(ctx, "d/b", "d/c", 0))
		wantBody(t, s, "d/c", "A")
		fails(t, files.Rename(ctx, "d/b", "d/x", 0), backing.ErrNotFound)
		fails(t, files.Rename(ctx, "d/c", "no/x", 0), backing.ErrNotFound)
	}},
	{"RenameWithoutReplacingAndExchange", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		put(t, s, "a", "A", backing.PutOptions{})
		put(t, s, "b", "B", backing.PutOptions{})
		fails(t, files.Rename(ctx, "a", "b", renameNoReplace), backing.ErrExists)
		ok(t, files.Rename(ctx, "a", "b", renameExchange))
		wantBody(t, s, "a", "B")
		wantBody(t, s, "b", "A")
		fails(t, files.Rename(ctx, "a", "no", renameExchange), backing.ErrNotFound)
		fails(t, files.Rename(ctx, "a", "b", 1<<7), syscall.EINVAL)
	}},
	{"DirectoriesAreNotRenamed", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		makeDir(t, s, "d")
		put(t, s, "a", "A", backing.PutOptions{})
		fails(t, files.Rename(ctx, "d", "e", 0), backing.ErrIsDir)
		fails(t, files.Rename(ctx, "a", "d", 0), backing.ErrIsDir)
	}},
	{"ConcurrentRenamesLoseNothing", func(t *testing.T, s backing.Store) {
		ctx, files := context.Background(), asFiles(t, s)
		makeDir(t, s, "d")
		put(t, s, "a", "A", backing.PutOptions{})
		put(t, s, "d/b", "B", backing.PutOptions{})
		errs := together(4, func(i int) error {
			from, to := backing.Key("a"), backing.Key("d/b")
			if i%2 == 1 {
				from, to = to, from
			}
			for range 25 {
				if err := files.Rename(ctx, from, to, renameExchange); err != nil {
					return fmt.Errorf("exchange: %w", err)
				}
			}
			return nil
		})
		ok(t, errors.Join(errs...))
		wantBody(t, s, "a", "A")
		wantBody(t, s, "d/b", "B")
	}},
}
