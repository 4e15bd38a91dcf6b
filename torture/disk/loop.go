package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Loop is a loop device on a file.
type Loop struct {
	Path string // as in /dev/loop3
	dev  *os.File
}

// maxLoops bounds how often another process may be faster to take the device
// that was free.
const maxLoops = 64

// Attach makes a loop device of the file.
func Attach(file *os.File) (*Loop, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("loop devices are needed, and root: %w", err)
	}
	defer control.Close()
	for range maxLoops {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		l := &Loop{Path: fmt.Sprintf("/dev/loop%d", n)}
		if l.dev, err = openLoop(l.Path, n); err != nil {
			return nil, fmt.Errorf("open a loop device: %w", err)
		}
		// It goes by itself, when nobody has it open or mounted any more.
		config := unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopConfigure(int(l.dev.Fd()), &config)
		if err == nil {
			return l, nil
		}
		l.dev.Close()
		if err != unix.EBUSY {
			return nil, fmt.Errorf("attach %s: %w", l.Path, err)
		}
	}
	return nil, errors.New("every free loop device was taken by somebody else")
}

// openLoop opens loop device n, and makes its node where nobody else does.
func openLoop(path string, n int) (*os.File, error) {
	dev, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return dev, err
	}
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(7, uint32(n)))); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// Detach gives the device back, as soon as nothing is mounted from it.
func (l *Loop) Detach() error {
	err := unix.IoctlSetInt(int(l.dev.Fd()), unix.LOOP_CLR_FD, 0)
	return errors.Join(err, l.dev.Close())
}
