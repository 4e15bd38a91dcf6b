package torture

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/disk"
)

// ground is the file system that a store lies on: where a journal keeps the
// order of names, a put syncs otherwise. Both are in memory.
type ground string

const (
	onTmpfs ground = "tmpfs"
	onExt4  ground = "ext4"
)

// ext4Dir is where the ext4 of these tests is mounted.
func ext4Dir() string { return filepath.Join(os.TempDir(), "ext4") }

// needsGround is false where no test runs.
func needsGround() bool { return os.Geteuid() == 0 && !testing.Short() }

// layGround mounts it, and what else the tests need.
func layGround() error {
	if !needsGround() {
		return nil
	}
	if err := layControl(); err != nil {
		return err
	}
	image := filepath.Join(os.TempDir(), "image")
	content, err := disk.Ext4.Make(image)
	if err != nil {
		return err
	}
	file, err := os.Create(image)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return errors.Join(err, file.Close())
	}
	loop, err := disk.Attach(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	err = os.Mkdir(ext4Dir(), 0o755)
	if err == nil {
		err = disk.Ext4.Mount(loop, ext4Dir())
	}
	return errors.Join(err, loop.Detach()) // it goes with the mount
}

func clearGround() error {
	if !needsGround() {
		return nil
	}
	return errors.Join(unix.Unmount(ext4Dir(), unix.MNT_DETACH), unix.Unmount(fusectlDir(), unix.MNT_DETACH))
}

// dir makes a directory there, which goes with the test.
func (g ground) dir(t *testing.T) string {
	t.Helper()
	if g == onTmpfs {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(ext4Dir(), "store")
	must(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// everywhere tests each operation on each ground; the bounded run tries the
// slow ones on one only.
func everywhere(t *testing.T, test func(t *testing.T, o operation, on ground)) {
	for _, o := range operations {
		for _, on := range []ground{onExt4, onTmpfs} {
			if o.slow && !*full && on == onTmpfs {
				continue
			}
			t.Run(o.name+" on "+string(on), func(t *testing.T) {
				t.Parallel()
				test(t, o, on)
			})
		}
	}
}

func TestTheGroundsAreWhatTheyAreCalled(t *testing.T) {
	needRoot(t)
	for on, magic := range map[ground]int64{onTmpfs: unix.TMPFS_MAGIC, onExt4: unix.EXT4_SUPER_MAGIC} {
		var s unix.Statfs_t
		must(t, unix.Statfs(on.dir(t), &s))
		if int64(s.Type) != magic {
			t.Errorf("what is called %s is a file system of type %#x", on, s.Type)
		}
	}
}
