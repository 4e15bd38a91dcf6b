package torture

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/fusefs"
	"ctxfs/housekeeping"
	"ctxfs/room"
	"ctxfs/torture/trace"
)

// A process of mountName serves the store at the directory in pointEnv until
// it is unmounted.
const (
	mountName = "serve a mount"
	pointEnv  = "CTXFS_TORTURE_MOUNTPOINT"
)

func init() { specials[mountName] = serveMount }

func serveMount(dir string) error {
	w, err := openWorld(dir, mountName)
	if err != nil {
		return err
	}
	fs, err := w.mount(os.Getenv(pointEnv), w.store)
	if err != nil {
		return errors.Join(err, w.close())
	}
	if err := trace.Filter(); err != nil {
		return errors.Join(err, fs.Detach(), w.close())
	}
	fmt.Println(saidDone)
	fs.Wait()
	return w.close()
}

// mount mounts the rooms, which are open on store.
func (w *world) mount(point string, store backing.Store) (*fusefs.FS, error) {
	return fusefs.Mount(fusefs.Options{Mountpoint: point, StoreName: "torture", Agent: "alice",
		Root: w.entries, Rooms: map[string]room.Room{"vars": w.vars.Room(), "results": w.results.Room(),
			"memories": w.mems, "invocations": w.history.Room()}, Journal: w.journal, Store: store, Log: slog.New(slog.DiscardHandler), Version: "torture", README: []byte("torture\n"),
		Work: map[string]fusefs.Work{housekeeping.ControlFile: w.keeper().Serve}})
}

// use serves the store in dir, lets user work on the mount, unmounts it, and
// returns what became of the daemon. plan may kill it, or fail its calls.
func use(t *testing.T, dir string, plan func(trace.Call) trace.Action, user func(mount string)) trace.Result {
	t.Helper()
	mount := filepath.Join(filepath.Dir(dir), "mnt")
	must(t, os.MkdirAll(mount, 0o755))
	p := program(t, mountName, dir, pointEnv+"="+mount)
	ended := make(chan struct{})
	var conn atomic.Pointer[connection]
	p.Said = func(line string) {
		if line == saidDone && conn.Load() == nil {
			c, err := connectionOf(mount)
			if err != nil {
				t.Error(err)
				return // and the daemon is killed at its limit
			}
			conn.Store(c)
			go func() {
				defer close(ended)
				// A child of this process, between its fork and its exec, would
				// hold the file too, and this close would not be the last one.
				syscall.ForkLock.RLock()
				defer syscall.ForkLock.RUnlock()
				user(mount)
				_ = unix.Unmount(mount, unix.MNT_DETACH) // the daemon ends; it is looked at below
			}()
		}
	}
	p.Killed = func() {
		if c := conn.Load(); c != nil {
			if err := c.abort(); err != nil {
				t.Errorf("abort the connection: %v", err)
			}
		}
	}
	r, err := trace.Run(p, plan)
	if err != nil || conn.Load() == nil {
		t.Fatalf("the daemon: exit code %d, %v\n%s%s", r.Exit, err, r.Stdout, r.Stderr)
	}
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatal("the daemon has ended, and the program goes on waiting for it")
	}
	must(t, conn.Load().abortFile.Close())
	return r
}

// fusectlDir is where the kernel lets connections to daemons be ended.
func fusectlDir() string { return filepath.Join(os.TempDir(), "connections") }

// layControl mounts it.
func layControl() error {
	if err := os.Mkdir(fusectlDir(), 0o755); err != nil {
		return err
	}
	return os.NewSyscallError("mount fusectl", unix.Mount("fusectl", fusectlDir(), "fusectl", 0, ""))
}

// connection is one of them. Its file is opened while it is there: its number
// may be another mount's soon after.
type connection struct{ abortFile *os.File }

// connectionOf returns the connection behind a mountpoint, without asking
// whoever serves it.
func connectionOf(mount string) (*connection, error) {
	all, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(all)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == mount {
			_, minor, _ := strings.Cut(f[2], ":")
			file, err := os.OpenFile(filepath.Join(fusectlDir(), minor, "abort"), os.O_WRONLY, 0)
			return &connection{file}, err
		}
	}
	return nil, fmt.Errorf("nothing is mounted at %s", mount)
}

// abort ends the connection of a daemon that was killed. The kernel does so
// itself when the last thread has gone; but one that was just telling of a
// change in a directory waits there for the program that holds it, which waits
// for the daemon's answer.
func (c *connection) abort() error {
	_, err := c.abortFile.WriteString("1")
	return err
}
