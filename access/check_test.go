package access

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/room"
)

// checked is the paths that a check reports, in its order.
func checked(t *testing.T, dir string, o CheckOptions) (paths []string) {
	t.Helper()
	if err := Check(t.Context(), Directory(dir), o, func(p room.Problem) { paths = append(paths, p.Path) }); err != nil {
		t.Fatal(err)
	}
	return paths
}

func onDisk(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatADaemonIsUsingIsNoLeftover(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustWrite(t, s, "vars/global/k", "v")
	onDisk(t, filepath.Join(dir, ".ctxfs/staging/x"), "x")
	onDisk(t, filepath.Join(dir, ".ctxfs/vars-spill/x"), "x")
	if paths := checked(t, dir, CheckOptions{Mounted: true}); paths != nil {
		t.Errorf("beside a daemon it reports %q", paths)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	onDisk(t, filepath.Join(dir, ".ctxfs/vars-spill/x"), "x")
	want := []string{".ctxfs/staging", ".ctxfs/vars-spill"}
	if paths := checked(t, dir, CheckOptions{}); !slices.Equal(paths, want) {
		t.Errorf("it reports %q", paths)
	}
}

func TestACheckThatMendsHasTheStoreForItself(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir)
	err := Check(t.Context(), Directory(dir), CheckOptions{Fix: true}, func(p room.Problem) { t.Errorf("%+v", p) })
	if locked := (*localdir.LockedError)(nil); !errors.As(err, &locked) {
		t.Errorf("beside a writer it says %v", err)
	}
}

func TestMemoriesOfTheirOwnDirectoryAreChecked(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	onDisk(t, filepath.Join(dir, "memories/m1/context.md"), "of the store, and not in use")
	onDisk(t, filepath.Join(dir, "vars/global/a.json"), "{")
	onDisk(t, filepath.Join(data, "m2/context.md"), "text")
	var looked []backing.Key
	o := CheckOptions{Memories: data, Looking: func(k backing.Key) { looked = append(looked, k) }}
	want := []string{"vars/global/a.json", "memories/m2/context.json"}
	if paths := checked(t, dir, o); !slices.Equal(paths, want) {
		t.Errorf("it reports %q", paths)
	}
	if !slices.Contains(looked, "vars/global/a.json") || !slices.Contains(looked, "m2/context.md") {
		t.Errorf("it has looked at %q", looked)
	}
	o.Memories = filepath.Join(data, "nowhere")
	if paths := checked(t, dir, o); !slices.Equal(paths, want[:1]) {
		t.Errorf("without that directory it reports %q", paths)
	}
	if _, err := os.Stat(o.Memories); err == nil {
		t.Error("a check has made the directory of the memories")
	}
}
