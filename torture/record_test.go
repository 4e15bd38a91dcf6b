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
	markEnv  = "CTXFS_TORTURE_MARK"
	workEnv  = "CTXFS_TORTURE_WORK"  // names of operations, by commas
	snapsEnv = "CTXFS_TORTURE_SNAPS" // what is there after each acknowledgement
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
	return disk.Serve(dir, content, os.Getenv(recEnv), func() { fmt.Println(saidDone) })
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
	if err := trace.Filter(); err != nil {
		return err
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
	before  []byte // the disk's content
	records []disk.Record
	snaps   []snapshot // after each mark
	calls   []trace.Call
}

// diskSize is that of the recorded disks, in bytes: room for ext4 with a
// journal and for what is written.
const diskSize = 16 << 20

// formatted returns the content of an empty ext4.
func formatted(t *testing.T) []byte {
	t.Helper()
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		mkfs = "/usr/sbin/mkfs.ext4"
	}
	image := filepath.Join(t.TempDir(), "image")
	must(t, os.WriteFile(image, make([]byte, diskSize), 0o600))
	out, err := exec.Command(mkfs, "-q", "-F", "-b", "4096", "-m", "0", "-O", "^resize_inode,^has_journal", image).CombinedOutput()
	if err == nil {
		out, err = exec.Command(strings.Replace(mkfs, "mkfs.ext4", "tune2fs", 1), "-J", "size=4", image).CombinedOutput()
	}
	if err != nil {
		t.Fatalf("mkfs.ext4 and tune2fs (Debian package e2fsprogs): %v\n%s", err, out)
	}
	content, err := os.ReadFile(image)
	must(t, err)
	return content
}

// record does the operations in a store on a recorded disk; plan may fake
// some of their system calls.
func record(t *testing.T, content []byte, names []string, plan func(trace.Call) trace.Action) recording {
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
	err = loop.MountExt4(at("mnt"))
	if err == nil {
		defer func() { _ = unix.Unmount(at("mnt"), unix.MNT_DETACH) }() // mostly it is unmounted already
	}
	must(t, err)
	r := run(t, workName, at("mnt"), plan, workEnv+"="+strings.Join(names, ","),
		markEnv+"="+at("fuse/"+disk.MarkName), snapsEnv+"="+at("snaps"))
	if _, ok := said(r.Stdout, saidDone); !ok {
		t.Errorf("the work ends with exit code %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	must(t, errors.Join(unix.Unmount(at("mnt"), 0), loop.Detach()))
	stop()
	records, err := disk.ReadLog(at("record"))
	must(t, err)
	defer os.RemoveAll(top) // large, and one test makes many
	return recording{before: content, records: disk.Split(records), snaps: readSnaps(t, at("snaps")), calls: r.Calls}
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
