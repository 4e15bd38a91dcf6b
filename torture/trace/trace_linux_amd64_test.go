package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const dirEnv = "CTXFS_TRACE_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirEnv); dir != "" {
		if err := traced(dir); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// traced makes a file, writes it from several threads, and renames it.
func traced(dir string) error {
	if err := Filter(); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "a"))
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = f.WriteAt([]byte("x"), int64(i)) })
	}
	wg.Wait()
	fmt.Println("written")
	return errors.Join(errors.Join(errs...), f.Sync(), f.Close(), os.Rename(f.Name(), filepath.Join(dir, "b")))
}

func start(t *testing.T, dir string, plan func(Call) Action) Result {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: it needs ptrace")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(Program{Args: []string{self}, Env: append(os.Environ(), dirEnv+"="+dir), Dir: dir, Limit: time.Minute}, plan)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.Stdout, r.Stderr)
	}
	return r
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func names(calls []Call) (list []string) {
	for _, c := range calls {
		list = append(list, c.String())
	}
	return list
}

func TestEveryCallOfEveryThreadIsSeenOnce(t *testing.T) {
	want := []string{"openat a", "pwrite64 a", "pwrite64 a #2", "pwrite64 a #3", "pwrite64 a #4", "fsync a", "renameat b"}
	for range 5 {
		dir := realDir(t)
		r := start(t, dir, func(Call) Action { return Action{} })
		if got := names(r.Calls); !slices.Equal(got, want) || r.Exit != 0 || r.Stdout != "written\n" {
			t.Fatalf("calls %q, exit code %d, output %q", got, r.Exit, r.Stdout)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(text) != "xxxx" {
			t.Fatalf("%q, %v", text, err)
		}
	}
}

func TestAKillComesBeforeOrAfterTheCall(t *testing.T) {
	for _, after := range []bool{false, true} {
		dir := realDir(t)
		r := start(t, dir, func(c Call) Action { return Action{Kill: c.Kind == "renameat", After: after} })
		_, err := os.Stat(filepath.Join(dir, "b"))
		if !r.Killed || r.Exit != 128+int(syscall.SIGKILL) || after != (err == nil) {
			t.Errorf("after %v: killed %v, exit code %d, the new name: %v", after, r.Killed, r.Exit, err)
		}
	}
}

func TestACallFailsOrPretends(t *testing.T) {
	dir := realDir(t)
	r := start(t, dir, func(c Call) Action {
		if c.Syncs() {
			return Action{Fail: syscall.EDQUOT}
		}
		return Action{Fake: c.Kind == "renameat"}
	})
	if r.Exit != 3 || !strings.Contains(r.Stdout, "sync") || !strings.Contains(r.Stdout, syscall.EDQUOT.Error()) || strings.Contains(r.Stdout, "rename") {
		t.Errorf("exit code %d: %s", r.Exit, r.Stdout)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Errorf("a rename that was only pretended has happened: %v", err)
	}
}

func TestAProgramThatDoesNotEndIsAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it needs ptrace")
	}
	_, err := Run(Program{Args: []string{"/bin/sleep", "1000"}, Env: os.Environ(), Dir: realDir(t), Limit: time.Millisecond},
		func(Call) Action { return Action{} })
	if err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("error is %v", err)
	}
}
