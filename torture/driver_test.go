package torture

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/torture/apart"
	"ctxfs/torture/trace"
)

// A process of the tests with doEnv is one that is tortured: it does the
// operation of that name in the store in storeEnv, and says how it went.
const (
	doEnv    = "CTXFS_TORTURE_DO"
	storeEnv = "CTXFS_TORTURE_STORE"
	againEnv = "CTXFS_TORTURE_AGAIN" // after a failure, look, and do it again
	logEnv   = "CTXFS_TORTURE_LOG"   // log to standard error
)

// What a tortured process says, each with a line of JSON or an errno behind.
const (
	saidDone   = "done"   // acknowledged
	saidFailed = "failed" // with errno, perhaps "unknown", and text
	saidState  = "state"  // a snapshot, after a failure
	saidAgain  = "again"  // after the second try: "" or an error
)

var (
	full   = flag.Bool("torture.full", false, "all points of every operation, and 10,000 states of the disk")
	states = flag.Int("torture.states", 0, "how many states of the disk to try; 0 is 300, or 10,000 with -torture.full")
	seed   = flag.Uint64("torture.seed", 1, "of the random subsets")
)

func TestMain(m *testing.M) {
	if name := os.Getenv(doEnv); name != "" {
		if err := tortured(name, os.Getenv(storeEnv)); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if err := apart.Leave(true); err != nil {
		fmt.Fprintln(os.Stderr, "the tests cannot have mounts of their own:", err)
		os.Exit(1)
	}
	if err := layGround(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests need an ext4 on a loop device:", errors.Join(err, apart.End()))
		os.Exit(1)
	}
	code := m.Run()
	if err := errors.Join(clearGround(), apart.End()); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = max(code, 1)
	}
	if err := table.Write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// tortured is the process that is killed, or lied to.
func tortured(name, dir string) error {
	for special, run := range specials {
		if name == special {
			return run(dir)
		}
	}
	o, err := operationOf(name)
	if err != nil {
		return err
	}
	if o.opens {
		if err := trace.Filter(); err != nil {
			return err
		}
	}
	w, err := openWorld(dir, o.name)
	if err != nil {
		fmt.Println(saidFailed, told(err))
		return nil
	}
	if !o.opens {
		if err := trace.Filter(); err != nil {
			return err
		}
	}
	err = o.do(w)
	if err == nil {
		fmt.Println(saidDone)
	} else {
		fmt.Println(saidFailed, told(err))
		if os.Getenv(againEnv) != "" {
			if err := again(w, o); err != nil {
				return err
			}
		}
	}
	return w.close()
}

// again says what is there after a failure, and does the operation again.
func again(w *world, o operation) error {
	s, err := w.snapshot()
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	fmt.Printf("%s %s\n", saidState, text)
	if err := o.do(w); err != nil {
		fmt.Println(saidAgain, told(err))
		return nil
	}
	fmt.Println(saidAgain)
	return nil
}

func told(err error) string {
	var errno syscall.Errno
	name := "none"
	if errors.As(err, &errno) {
		name = unix.ErrnoName(errno)
	}
	if errors.Is(err, backing.ErrUnknown) {
		name += " unknown"
	}
	return name + " " + strings.ReplaceAll(err.Error(), "\n", "; ")
}

// specials are processes that do something else than an operation.
var specials = map[string]func(dir string) error{}

// said returns what stands behind word in the output of a tortured process.
func said(output, word string) (rest string, ok bool) {
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if line == word {
			return "", true
		}
		if rest, ok = strings.CutPrefix(line, word+" "); ok {
			return rest, true
		}
	}
	return "", false
}

// run starts this binary as a tortured process.
func run(t *testing.T, name, dir string, plan func(trace.Call) trace.Action, env ...string) trace.Result {
	t.Helper()
	r, err := trace.Run(program(t, name, dir, env...), plan)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.Stdout, r.Stderr)
	}
	return r
}

// limit is how long one tortured process may take, on a machine that is busy
// with something else.
const limit = 60 * time.Second

func program(t *testing.T, name, dir string, env ...string) trace.Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := append(os.Environ(), doEnv+"="+name, storeEnv+"="+dir)
	return trace.Program{Args: []string{self}, Env: append(all, env...), Dir: dir, Limit: limit}
}

// needRoot ends a test that cannot run: loudly, unless it is a short run.
func needRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root, for ptrace, mounts and loop devices; go test -short leaves it out")
	}
}
