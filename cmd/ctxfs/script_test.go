package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	scriptLimit  = 4 * time.Minute // of one script, from its first line to its last
	fullLimit    = time.Hour       // of one of full size
	commandLimit = time.Minute     // of one of our own script commands
)

// TestScripts runs testdata/*.txt: a real mount each, with real programs. A
// script has $STORE, $CTX (the mountpoint) and the commands of
// commands_test.go and term_test.go, and ends with umount.
func TestScripts(t *testing.T) {
	needFuse(t)
	p := scripts
	p.Dir = "testdata"
	testscript.Run(t, p)
}

var scripts = testscript.Params{
	Setup:               setup,
	RequireUniqueNames:  true,
	RequireExplicitExec: true,
	Condition:           condition,
	Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"mount":     mountCmd,
		"umount":    umountCmd,
		"daemon":    daemonCmd,
		"within":    withinCmd,
		"changelog": changelogCmd,
		"versions":  versionsCmd,
		"term":      termCmd,
		"database":  databaseCmd,
	},
}

func needFuse(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		f.Close()
		return
	}
	if testing.Short() {
		t.Skip("no /dev/fuse:", err)
	}
	t.Fatalf("these tests mount for real, and need /dev/fuse: %v (as root: chmod a+rw /dev/fuse; -short leaves them out)", err)
}

func condition(cond string) (bool, error) {
	switch cond {
	case "uid0":
		return os.Geteuid() == 0, nil
	case "node-modules":
		return os.Getenv("CTXFS_TEST_NODE_PATH") != "", nil
	case "fusectl":
		dir, err := os.ReadDir("/sys/fs/fuse/connections")
		return len(dir) > 0, err
	case "full":
		return fullSize(), nil
	}
	return false, fmt.Errorf("there is no condition %q", cond)
}

// setup gives a script its environment, and its guard.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	ctx, store := filepath.Join(env.WorkDir, "ctx"), filepath.Join(env.WorkDir, "store")
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("CTX", ctx)
	env.Setenv("STORE", store)
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		return err
	}
	env.Setenv("TESTDATA", testdata)
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
	// The race detector would let each process sleep a second at its end.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("TERM", "xterm")
	env.Setenv("SHELL", "/bin/sh")
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("NODE_PATH", os.Getenv("CTXFS_TEST_NODE_PATH"))
	g := &guard{work: env.WorkDir, store: store, ctx: ctx}
	env.Values[guardKey{}] = g
	t, ok := env.T().(interface{ Error(...any) })
	if !ok {
		t = failNow{env.T()}
	}
	limit := scriptLimit
	if fullSize() {
		limit = fullLimit
	}
	script := time.AfterFunc(limit, func() {
		t.Error(g.breakUp("the script has run for " + limit.String()))
	})
	env.Defer(func() {
		script.Stop()
		if left := g.left(); left != "" {
			t.Error(g.breakUp("the script left behind " + left))
		}
	})
	return nil
}

// failNow is for a testscript.T that only knows Fatal.
type failNow struct{ testscript.T }

func (f failNow) Error(args ...any) { f.Log(args...); f.Fatal(args...) }

type guardKey struct{}

// guard knows what a script has mounted and started, and can end it, so that
// a daemon that hangs does not hang the tests.
type guard struct {
	work, store, ctx string
	terms            int // terminals started
	termPID          int // of the program in the last of them
}

func guardOf(ts *testscript.TestScript) *guard { return ts.Value(guardKey{}).(*guard) }

// within runs do; if that takes longer than limit, the script's mounts are
// aborted, which ends whatever waits for them, and the script fails.
func (g *guard) within(ts *testscript.TestScript, limit time.Duration, what string, do func()) {
	report := make(chan string, 1)
	timer := time.AfterFunc(limit, func() { report <- g.breakUp(what + " took longer than " + limit.String()) })
	do()
	if !timer.Stop() {
		ts.Fatalf("%s", <-report)
	}
}

// breakUp aborts the script's own connections, ends its daemons and unmounts,
// and returns why, with the end of the daemon's log.
func (g *guard) breakUp(why string) string {
	report := []string{why}
	all, err := mounts()
	if err != nil {
		report = append(report, err.Error())
	}
	for _, m := range all {
		if m.Type == fstype && inside(m.Point, g.work) {
			if err := os.WriteFile(fmt.Sprintf("/sys/fs/fuse/connections/%d/abort", m.Conn), []byte("1"), 0); err != nil {
				report = append(report, err.Error())
			}
		}
	}
	for _, pid := range g.daemons() {
		if p, err := os.FindProcess(pid); err == nil {
			report = append(report, fmt.Sprintf("daemon %d killed: %v", pid, p.Kill()))
		}
	}
	for _, m := range all {
		if m.Type == fstype && inside(m.Point, g.work) {
			report = append(report, fmt.Sprintf("detached %s: %v", m.Point, detach(m.Point)))
		}
	}
	return strings.Join(append(report, g.log()), "\n")
}

// log is the end of the daemons' logs.
func (g *guard) log() string {
	files, err := filepath.Glob(filepath.Join(g.work, "state/ctxfs/*.log"))
	if err != nil || len(files) == 0 {
		return "there is no log"
	}
	out, err := exec.Command("tail", append([]string{"-n", "40"}, files...)...).CombinedOutput()
	return errors.Join(errors.New("the log ends:\n"+string(out)), err).Error()
}

// daemons lists the processes that serve below the script's directory.
func (g *guard) daemons() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		a := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		// The last argument is the mountpoint.
		if err != nil || len(a) < 3 || a[1] != "mount" || a[2] != "--foreground" || !inside(a[len(a)-1], g.work) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// left says what of mounts, daemons and staging files there still is.
func (g *guard) left() string {
	all, err := mounts()
	if err != nil {
		return err.Error()
	}
	for _, m := range all {
		if inside(m.Point, g.work) {
			return "a mount at " + m.Point
		}
	}
	if pids := g.daemons(); len(pids) > 0 {
		return fmt.Sprintf("daemons %v", pids)
	}
	files, _ := os.ReadDir(filepath.Join(g.store, ".ctxfs/staging"))
	if len(files) > 0 {
		return "a staging file " + files[0].Name()
	}
	return ""
}
