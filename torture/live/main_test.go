package live

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"ctxfs/torture/apart"
	"ctxfs/torture/tried"
)

var (
	full = flag.Bool("live.full", false, "everything, and not only what is fast")
	long = flag.Duration("live.for", 0, "how long the load test runs with each build; 0 is 30s, and 10m with -live.full")
	seed = flag.Uint64("live.seed", 1, "of what is done at random")
)

// table is what was tried and what held.
var table tried.Table

func TestMain(m *testing.M) {
	if text := os.Getenv(workEnv); text != "" {
		if err := worked(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if os.Getenv(posixEnv) != "" {
		os.Exit(m.Run()) // with the mounts of its parent
	}
	// Of a bounded run nothing waits for a disk that others are busy with.
	if err := apart.Leave(!*full); err != nil {
		fmt.Fprintln(os.Stderr, "the tests cannot have mounts of their own:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := table.Write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if err := apart.End(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// needRoot ends a test that cannot run: loudly, unless it is a short run.
func needRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root, for mounts of its own; go test -short leaves it out")
	}
}

// raced reports whether this binary has the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

var builds = map[bool]func() (string, error){
	false: sync.OnceValues(func() (string, error) { return build(false) }),
	true:  sync.OnceValues(func() (string, error) { return build(true) }),
}

func build(race bool) (string, error) {
	dir := filepath.Join(os.TempDir(), "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return Build(context.Background(), dir, race)
}

// command is the path of the built command: with the race detector where the
// tests have it.
func command(t *testing.T, race bool) string {
	t.Helper()
	path, err := builds[race]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start mounts the store in dir, and unmounts it at the end of the test, if that
// did not do so.
func start(t *testing.T, race bool, dir string, args ...string) *Daemon {
	t.Helper()
	d, err := Start(command(t, race), dir, "store", args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}
