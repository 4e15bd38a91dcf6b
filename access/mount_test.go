package access

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/codec"
)

// The mount itself is tested by the scripts of cmd/ctxfs; here it is a plain
// directory that looks like one.

var noon = time.Date(2026, 2, 22, 12, 0, 0, 5e5, time.UTC)

// likeAMount returns the files of a directory with these lines in
// .ctxfs/errors; the clock stands at noon.
func likeAMount(t *testing.T, refusals ...string) (*Mount, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ctxfs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"version": "test\n", "errors": strings.Join(refusals, "\n")} {
		if err := os.WriteFile(filepath.Join(dir, ".ctxfs", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return NewMount(dir, func() time.Time { return noon }), dir
}

func TestAMountThatIsGoneIsNotWrittenTo(t *testing.T) {
	m, dir := likeAMount(t)
	if err := os.RemoveAll(filepath.Join(dir, ".ctxfs")); err != nil {
		t.Fatal(err)
	}
	err := m.Write(t.Context(), "vars/global/k", bytes.NewReader(nil), nil)
	if err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the directory under it holds %v, %v", left, err)
	}
}

func TestTheReasonOfARefusalIsLookedUp(t *testing.T) {
	line := func(at time.Time, path string, errno syscall.Errno, reason string) string {
		return fmt.Sprintf(`{"time":%q,"path":%q,"agent":"a","pid":1,"errno":%q,"line":3,"field":"f","reason":%q,"fix":"mend it"}`,
			at.Format("2006-01-02T15:04:05.000Z"), path, unix.ErrnoName(errno), reason)
	}
	for _, c := range []struct{ name, line, want string }{
		{"this one", line(noon, "dir", syscall.EISDIR, "because"), "dir:3: f: because (mend it)"},
		{"an older one", line(noon.Add(-time.Second), "dir", syscall.EISDIR, "because"), "open dir: is a directory"},
		{"of another file", line(noon, "other", syscall.EISDIR, "because"), "open dir: is a directory"},
		{"with another errno", line(noon, "dir", syscall.EINVAL, "because"), "open dir: is a directory"},
		{"half a line", `{"time":`, "open dir: is a directory"},
		{"the newest", line(noon, "dir", syscall.EISDIR, "first") + "\n" + line(noon, "dir", syscall.EISDIR, "second"), "dir:3: f: second (mend it)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, dir := likeAMount(t, c.line)
			if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
				t.Fatal(err)
			}
			err := m.opened("open", "dir", os.O_WRONLY, (*os.File).Sync)
			if err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
			var r *codec.Refusal
			if errors.As(err, &r) && !errors.Is(err, syscall.EISDIR) {
				t.Errorf("%v lost its errno", err)
			}
		})
	}
}

func TestNoLinkLeadsOutOfTheMount(t *testing.T) {
	m, dir := likeAMount(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAll(t.Context(), m, "link"); err == nil {
		t.Error("it was read")
	}
	if err := m.Write(t.Context(), "link", strings.NewReader("x"), nil); err == nil {
		t.Error("it was written")
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "secret" {
		t.Errorf("outside is %q, %v", text, err)
	}
}

func TestFilesOfAMount(t *testing.T) {
	m, _ := likeAMount(t)
	mustWrite(t, m, "a/b/c", "text")
	if err := m.Append(t.Context(), "a/b/c", []byte(" and more")); err != nil {
		t.Fatal(err)
	}
	mustRead(t, m, "a/b/c", "text and more")
	if err := m.Rename(t.Context(), "a/b/c", "a/d"); err != nil {
		t.Fatal(err)
	}
	infos, err := m.List(t.Context(), "a")
	if err != nil || len(infos) != 2 || infos[0].Name != "b" || !infos[0].Dir || infos[1].Size != 13 {
		t.Errorf("a holds %v, %v", infos, err)
	}
	if err := m.Sync(t.Context(), "a/d"); err != nil {
		t.Error(err)
	}
	if err := m.Remove(t.Context(), "a/b"); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("to remove a directory: %v", err)
	}
	if err := m.Remove(t.Context(), "a/d"); err != nil {
		t.Error(err)
	}
	if _, err := m.Stat(t.Context(), "a/d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was removed: %v", err)
	}
}
