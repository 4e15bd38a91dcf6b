package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/disk"
	"ctxfs/torture/trace"
)

// Of the processes that serve a recorded disk, and that work on one.
const (
	serveName = "serve a recorded disk"
	workName  = "work on a recorded disk"

	imageEnv = "CTXFS_TORTURE_IMAGE"
	recEnv   = "CTXFS_TORTURE_RECORD"
	badEnv   = "CTXFS_TORTURE_BAD" // what the disk cannot write
	markEnv  = "CTXFS_TORTURE_MARK"
	workEnv  = "CTXFS_TORTURE_WORK"  // names of operations, by commas
	snapsEnv = "CTXFS_TORTURE_SNAPS" // what is there after each acknowledgement
	earlyEnv = "CTXFS_TORTURE_EARLY" // trace the opening of the store too
)

func init() {
	specials[serveName] = serveDisk
	specials[workName] = work
}

func serveDisk(dir string) error {
	content, err := os.ReadFile(os.Getenv(imageEnv))
	if err != nil {
		return err
	}
	return disk.Serve(dir, content, os.Getenv(recEnv), []byte(os.Getenv(badEnv)), func() { fmt.Println(saidDone) })
}

// work does operations one after the other, and marks each acknowledgement in
// the record of the disk.
func work(dir string) (err error) {
	mark, err := os.OpenFile(os.Getenv(markEnv), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mark.Close()
	snaps, err := os.Create(os.Getenv(snapsEnv))
	if err != nil {
		return err
	}
	defer snaps.Close()
	early := os.Getenv(earlyEnv) != ""
	if early {
		if err := trace.Filter(); err != nil {
			return err
		}
	}
	w, err := openWorld(dir, workName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	// Entries of memories are told apart by what they say.
	w.acked = func() error {
		s, err := w.snapshot()
		if err == nil {
			err = json.NewEncoder(snaps).Encode(s)
		}
		if err == nil {
			_, err = mark.Write([]byte("acknowledged"))
		}
		return err
	}
	if err := w.acked(); err != nil {
		return err
	}
	if !early {
		if err := trace.Filter(); err != nil {
			return err
		}
	}
	for _, name := range strings.Split(os.Getenv(workEnv), ",") {
		o, err := operationOf(name)
		if err == nil {
			err = each(o.before, o.do)(w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Println(saidDone)
	return nil
}

// recording is a disk on which operations were done.
type recording struct {
	format  disk.Format
	before  []byte // the disk's content
	records []disk.Record
	snaps   []snapshot // after each mark
	calls   []trace.Call
}

// formatted returns the content of an empty file system.
func formatted(t *testing.T, f disk.Format) []byte {
	t.Helper()
	content, err := f.Make(filepath.Join(t.TempDir(), "image"))
	must(t, err)
	return content
}

// meddler is asked before each system call on the store, which lies in dir.
type meddler func(dir string, c trace.Call) trace.Action

// record does the operations in a store on a recorded disk; plan may fake
// some of their system calls, or do something before them.
func record(t *testing.T, f disk.Format, content []byte, names []string, plan meddler) recording {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, errors.Join(os.WriteFile(at("image"), content, 0o600), os.Mkdir(at("fuse"), 0o700), os.Mkdir(at("mnt"), 0o700)))
	stop := serve(t, at("fuse"), imageEnv+"="+at("image"), recEnv+"="+at("record"))
	file, err := os.OpenFile(at("fuse/"+disk.DiskName), os.O_RDWR, 0)
	must(t, err)
	loop, err := disk.Attach(file)
	must(t, errors.Join(err, file.Close()))
	err = f.Mount(loop, at("mnt"))
	if err == nil {
		defer func() { _ = unix.Unmount(at("mnt"), unix.MNT_DETACH) }() // mostly it is unmounted already
	}
	must(t, err)
	r := run(t, workName, at("mnt"), func(c trace.Call) trace.Action { return plan(at("mnt"), c) }, workEnv+"="+strings.Join(names, ","),
		markEnv+"="+at("fuse/"+disk.MarkName), snapsEnv+"="+at("snaps"))
	if _, ok := said(r.Stdout, saidDone); !ok {
		t.Errorf("the work ends with exit code %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	must(t, errors.Join(unix.Unmount(at("mnt"), 0), loop.Detach()))
	stop()
	records, err := disk.ReadLog(at("record"))
	must(t, err)
	defer os.RemoveAll(top) // large, and one test makes many
	return recording{format: f, before: content, records: disk.Split(records), snaps: readSnaps(t, at("snaps")), calls: r.Calls}
}

func readSnaps(t *testing.T, name string) (all []snapshot) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	for d := json.NewDecoder(f); d.More(); {
		var s snapshot
		must(t, d.Decode(&s))
		all = append(all, s)
	}
	return all
}

// serve starts the process that serves a recorded disk; stop unmounts it and
// waits for its end.
func serve(t *testing.T, dir string, env ...string) (stop func()) {
	t.Helper()
	p := program(t, serveName, dir, env...)
	c := exec.Command(p.Args[0])
	c.Env, c.Stderr = p.Env, os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	stopped := false
	stop = func() {
		t.Helper()
		if stopped {
			return
		}
		stopped = true
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount the recorded disk: %v", err)
			_ = unix.Unmount(dir, unix.MNT_DETACH)
			_ = c.Process.Kill()
		}
		if err := c.Wait(); err != nil {
			t.Errorf("the recorder: %v", err)
		}
	}
	t.Cleanup(stop)
	ready := make([]byte, len(saidDone)+1)
	if _, err := out.Read(ready); err != nil {
		t.Fatalf("the recorder does not serve: %v", err)
	}
	return stop
}
