package joined

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s backing.Store, key backing.Key, text string) {
	t.Helper()
	_, err := s.Put(t.Context(), key, strings.NewReader(text), backing.PutOptions{})
	ok(t, err)
}

func read(t *testing.T, s backing.Store, key backing.Key) string {
	t.Helper()
	c, err := s.Open(t.Context(), key, "")
	ok(t, err)
	defer c.Close()
	text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	ok(t, err)
	return string(text)
}

// withDir is a store in which everybody has the directory d.
func withDir(t *testing.T) *Store {
	t.Helper()
	s := newStore(t, mixed)
	t.Cleanup(func() { ok(t, s.Close()) })
	_, err := s.MakeDir(t.Context(), "d", 0o755)
	ok(t, err)
	return s
}

func TestEachKeyIsWhereItBelongs(t *testing.T) {
	s := withDir(t)
	for key, want := range map[backing.Key]backing.Store{"d/a.md": s.shared, "d/a.swp": s.local, "tmp": s.local} {
		if key == "tmp" {
			_, err := s.MakeDir(t.Context(), key, 0o755)
			ok(t, err)
		} else {
			put(t, s, key, "x")
		}
		for _, side := range []backing.Store{s.shared, s.local} {
			if _, err := side.Stat(t.Context(), key); (err == nil) != (side == want) {
				t.Errorf("of %s a side says %v", key, err)
			}
		}
	}
}

func TestAListingHasBothSidesInOrderAndInPages(t *testing.T) {
	s := withDir(t)
	_, err := s.MakeDir(t.Context(), "d/inner", 0o755)
	ok(t, err)
	put(t, s, "d/inner/x.swp", "") // makes d/inner here too
	want := []string{"a.md", "b.swp", "c.md", "d.swp", "e.swp", "inner", "z.md"}
	for _, name := range want {
		if name != "inner" {
			put(t, s, backing.Key("d").Join(name), name)
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 100} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.List(t.Context(), "d", after, limit)
			ok(t, err)
			for _, m := range page {
				got = append(got, m.Key.Name())
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d it has %q", limit, got)
		}
	}
}

func TestADirectoryWithALocalFileIsNotEmpty(t *testing.T) {
	s := withDir(t)
	_, err := s.MakeDir(t.Context(), "d/inner", 0o755)
	ok(t, err)
	put(t, s, "d/inner/x.swp", "")
	if err := s.RemoveDir(t.Context(), "d/inner"); !errors.Is(err, backing.ErrNotEmpty) {
		t.Errorf("it is removed: %v", err)
	}
	ok(t, s.Remove(t.Context(), "d/inner/x.swp", ""))
	// Another host removes a directory that was made here too.
	ok(t, s.shared.RemoveDir(t.Context(), "d/inner"))
	ok(t, s.RemoveDir(t.Context(), "d"))
	if _, err := s.OpenFile(t.Context(), "d/y.swp", os.O_CREATE|os.O_WRONLY, 0o644); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("a file is made in a directory that is gone: %v", err)
	}
}

func TestWhatTheSharedStoreHasIsSeenAndRemoved(t *testing.T) {
	s := withDir(t)
	put(t, s.shared, "d/attached.png", "from a copied store")
	if got := read(t, s, "d/attached.png"); got != "from a copied store" {
		t.Errorf("it is %q", got)
	}
	ok(t, s.Unlink(t.Context(), "d/attached.png"))
	if _, err := s.Stat(t.Context(), "d/attached.png"); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestRenameFromOneSideToTheOther(t *testing.T) {
	s := withDir(t)
	put(t, s, "d/new.tmp", "new")
	put(t, s, "d/a.md", "old")
	if err := s.Rename(t.Context(), "d/new.tmp", "d/a.md", unix.RENAME_NOREPLACE); !errors.Is(err, backing.ErrExists) {
		t.Errorf("it replaces: %v", err)
	}
	ok(t, s.Rename(t.Context(), "d/new.tmp", "d/a.md", 0))
	if got := read(t, s.shared, "d/a.md"); got != "new" {
		t.Errorf("shared is %q", got)
	}
	ok(t, s.Rename(t.Context(), "d/a.md", "d/a.md~", 0))
	if got := read(t, s.local, "d/a.md~"); got != "new" {
		t.Errorf("the backup is %q", got)
	}
	for _, key := range []backing.Key{"d/new.tmp", "d/a.md"} {
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%s is still there: %v", key, err)
		}
	}
}

func TestASharedFileIsChangedInPlace(t *testing.T) {
	s := withDir(t)
	open := func(flags int) backing.File {
		f, err := s.OpenFile(t.Context(), "d/log.md", flags, 0o640)
		ok(t, err)
		return f
	}
	f := open(os.O_RDWR | os.O_CREATE)
	more := open(os.O_WRONLY | os.O_APPEND)
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := f.WriteAt([]byte("hello"), 0); return err }, "hello"},
		{func() error { _, err := more.WriteAt([]byte(" you"), 0); return err }, "hello you"},
		{func() error { _, err := f.WriteAt([]byte("J"), 0); return err }, "Jello you"},
		{func() error { _, err := f.WriteAt([]byte("!"), 10); return err }, "Jello you\x00!"},
		{func() error { return f.Truncate(5) }, "Jello"},
		{func() error { return f.Truncate(6) }, "Jello\x00"},
		{func() error { return open(os.O_WRONLY | os.O_TRUNC).Close() }, ""},
	} {
		ok(t, step.do())
		var got bytes.Buffer
		_, err := io.Copy(&got, io.NewSectionReader(f, 0, 1<<20))
		ok(t, err)
		if got.String() != step.want {
			t.Errorf("it is %q, want %q", got.String(), step.want)
		}
	}
	if m, err := f.Stat(); err != nil || m.Mode != 0o640 {
		t.Errorf("%+v, %v", m, err)
	}
	ok(t, errors.Join(f.Sync(), f.Close(), more.Close()))
	if _, err := open(os.O_RDONLY).WriteAt([]byte("x"), 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("a file opened for reading is written: %v", err)
	}
	if _, err := s.OpenFile(context.Background(), "d/log.md", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644); !errors.Is(err, backing.ErrExists) {
		t.Errorf("it is made again: %v", err)
	}
}

func TestDiscardEmptiesBothSides(t *testing.T) {
	s := withDir(t)
	var list []backing.Removal
	for _, key := range []backing.Key{"d/a.md", "d/a.md.rej"} {
		put(t, s, key, "x")
		m, err := s.Stat(t.Context(), key)
		ok(t, err)
		list = append(list, backing.Removal{Key: key, Object: m.Revision})
	}
	put(t, s, "kept.swp", "")
	list = append(list, backing.Removal{Key: "gone.md", Object: "x"}, backing.Removal{Key: "d", Dir: true})
	errs := s.Discard(t.Context(), list)
	if len(errs) != 4 || errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], backing.ErrNotFound) || errs[3] != nil {
		t.Errorf("it says %v", errs)
	}
	if _, err := s.Stat(t.Context(), "d"); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("the directory is still there: %v", err)
	}
}
