package access

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/backing/localdir"
	"ctxfs/codec"
	"ctxfs/room"
)

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(t.Context(), Directory(dir), Options{Caller: room.Caller{PID: uint32(os.Getpid()), UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Agent: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustWrite(t *testing.T, f Files, path, text string) {
	t.Helper()
	if err := f.Write(t.Context(), path, strings.NewReader(text), nil); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, f Files, path, want string) {
	t.Helper()
	if text, err := ReadAll(t.Context(), f, path); err != nil || string(text) != want {
		t.Errorf("%s is %q, %v; want %q", path, text, err, want)
	}
}

func TestAStoreIsWrittenByOneProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	_, err := OpenStore(t.Context(), Directory(dir), Options{})
	var locked *localdir.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("a second one gets %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, dir)
}

func TestOnlyTheRoomsThatAreAskedForAreOpened(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustWrite(t, s, "vars/global/k", "v")
	mustRead(t, s, "vars/global/k", "v")
	for _, name := range []string{"invocations", "memories", "results"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if _, err := s.Stat(t.Context(), "invocations/context.jsonl"); err != nil {
		t.Error(err)
	}
	infos, err := s.List(t.Context(), "")
	if err != nil || len(infos) != 4 || infos[0].Name != "invocations" || !infos[3].Dir {
		t.Errorf("the top holds %v, %v", infos, err)
	}
}

func TestWhatIsQueuedIsWrittenWhenTheStoreIsClosed(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustWrite(t, s, "memories/m1/context.md", "text")
	mustWrite(t, s, "vars/session:s/k", "gone")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, dir)
	mustRead(t, again, "memories/m1/context.md", "text")
	if _, err := again.Open(t.Context(), "vars/session:s/k"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a session variable after the end: %v", err)
	}
}

func TestAReaderKeepsTheVersionThatItOpened(t *testing.T) {
	s := openStore(t, t.TempDir())
	mustWrite(t, s, "vars/global/k", "old")
	c, err := s.Open(t.Context(), "vars/global/k")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mustWrite(t, s, "vars/global/k", "newer")
	if text, err := io.ReadAll(c); err != nil || string(text) != "old" || c.Size() != 3 {
		t.Errorf("it reads %q of %d, %v", text, c.Size(), err)
	}
}

// failing gives some text and then an error.
type failing struct{ text io.Reader }

func (f failing) Read(p []byte) (int, error) {
	if n, err := f.text.Read(p); err == nil {
		return n, nil
	}
	return 0, errors.New("the source is gone")
}

func TestAContentThatCannotBeReadChangesNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	mustWrite(t, s, "vars/global/k", "old")
	err := s.Write(t.Context(), "vars/global/k", failing{strings.NewReader("half")}, nil)
	if err == nil || !strings.Contains(err.Error(), "the source is gone") {
		t.Errorf("the error is %v", err)
	}
	mustRead(t, s, "vars/global/k", "old")
	if _, err := s.Stat(t.Context(), "vars/global/k.rej"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what nobody refused is kept as refused: %v", err)
	}
}

func TestPathsThatAreNone(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, path := range []string{"/vars", "vars/../x", "vars//k", "a\x00b", ".ctxfs/lock"} {
		if _, err := s.Open(t.Context(), path); err == nil {
			t.Errorf("%q was opened", path)
		}
		if err := s.Write(t.Context(), path, strings.NewReader(""), nil); err == nil {
			t.Errorf("%q was written", path)
		}
		if err := s.Rename(t.Context(), "vars/global/k", path); err == nil {
			t.Errorf("something was renamed to %q", path)
		}
	}
}

func TestARefusalIsTheRoomsOwn(t *testing.T) {
	s := openStore(t, t.TempDir())
	err := s.Write(t.Context(), "vars/global/x.json", strings.NewReader("{"), nil)
	var r *codec.Refusal
	if !errors.As(err, &r) || r.Path != "vars/global/x.json" || err.Error() != r.Error() {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Stat(t.Context(), "vars/global/x.json.rej"); err != nil {
		t.Error(err)
	}
}
