package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// Size is that of the recorded disks, in bytes: room for a journal and for
// what is written.
const Size = 16 << 20

// Format is a file system, how it is made and how it is mounted.
type Format struct {
	Name    string
	kind    string     // as mount(2) takes it
	options string     // of mount(2)
	make    [][]string // commands, the image's name comes last
	repair  []string   // command that makes it whole after a crash, where a mount does not
	Debian  string     // package that makes it
}

// 4 MiB of journal are the least that ext4 takes, and mkfs.ext4 gives less to
// a file system of this size.
var (
	mkExt4  = []string{"mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-O", "^resize_inode,^has_journal"}
	journal = []string{"tune2fs", "-J", "size=4"}
)

// The file systems on which a loss of power is tried.
var (
	// Ext4 does not make up for a missing fsync before a rename.
	Ext4 = Format{Name: "ext4", kind: "ext4", options: "noauto_da_alloc", make: [][]string{mkExt4, journal}, Debian: "e2fsprogs"}
	// Ext4Default is as most systems mount it.
	Ext4Default = Format{Name: "ext4 as it is mounted by default", kind: "ext4", make: [][]string{mkExt4, journal}, Debian: "e2fsprogs"}
	// Ext4Fast writes fsyncs to a journal of their own, in another form.
	Ext4Fast = Format{Name: "ext4 with fast_commit", kind: "ext4", options: "noauto_da_alloc",
		make: [][]string{mkExt4, {"tune2fs", "-J", "size=6"}, {"tune2fs", "-O", "fast_commit"}}, Debian: "e2fsprogs"}
	// Ext4Bare has no journal: each fsync stands for itself.
	Ext4Bare = Format{Name: "ext4 without a journal", kind: "ext4", options: "noauto_da_alloc", make: [][]string{mkExt4},
		repair: []string{"e2fsck", "-fy"}, Debian: "e2fsprogs"}
	// XFS is otherwise of 300 MiB and more.
	XFS = Format{Name: "xfs", kind: "xfs", options: "nouuid",
		make: [][]string{{"mkfs.xfs", "-q", "-f", "--unsupported", "-d", "agcount=1"}}, Debian: "xfsprogs"}
)

// Repaired reports whether it is mended by a program before each mount.
func (f Format) Repaired() bool { return f.repair != nil }

// Known reports whether the kernel can mount it.
func (f Format) Known() bool {
	all, err := os.ReadFile("/proc/filesystems")
	return err == nil && strings.Contains(string(all), "\t"+f.kind+"\n")
}

// Make returns the content of an empty one. It uses the file image meanwhile.
func (f Format) Make(image string) ([]byte, error) {
	if err := os.WriteFile(image, make([]byte, Size), 0o600); err != nil {
		return nil, fmt.Errorf("make %s: %w", f.Name, err)
	}
	for _, c := range f.make {
		if err := tool(c, image); err != nil {
			return nil, fmt.Errorf("make %s (Debian package %s): %w", f.Name, f.Debian, err)
		}
	}
	return os.ReadFile(image)
}

// tool runs a program of the administrator, which may be outside of PATH. It
// returns an error with what the program said.
func tool(command []string, image string) error {
	name, err := exec.LookPath(command[0])
	if err != nil {
		name = "/usr/sbin/" + command[0]
	}
	out, err := exec.Command(name, append(command[1:len(command):len(command)], image)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command[0], err, out)
	}
	return nil
}

// ErrMount is in the error of a file system that could not be mounted.
var ErrMount = errors.New("it cannot be mounted")

// Mount mounts the device.
func (f Format) Mount(l *Loop, dir string) error {
	if f.repair != nil {
		var exit *exec.ExitError
		// 1: there was something to mend, and it is.
		if err := tool(f.repair, l.Path); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
			return err
		}
	}
	if err := unix.Mount(l.Path, dir, f.kind, unix.MS_NOATIME, f.options); err != nil {
		return fmt.Errorf("%s: %w: %w", f.Name, ErrMount, err)
	}
	return nil
}
