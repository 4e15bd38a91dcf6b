package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// mountAdvice says why a mount failed, where that is what it is for nearly
// everybody whose mount fails: go-fuse only reports its last try, which is to
// run fusermount3. uid is the effective one; openFuse opens /dev/fuse; look is
// exec.LookPath.
func mountAdvice(err error, uid int, openFuse func() error, look func(string) (string, error)) error {
	switch opened := openFuse(); {
	case errors.Is(opened, fs.ErrNotExist):
		return fmt.Errorf("there is no /dev/fuse here; as root: modprobe fuse; for a container: --device /dev/fuse --cap-add SYS_ADMIN (%w)", err)
	case opened != nil:
		return fmt.Errorf("%w; it must be readable and writable for you, and a container needs --device /dev/fuse (%w)", opened, err)
	case uid == 0:
		return fmt.Errorf("%w; if this is a container it needs --cap-add SYS_ADMIN (docs/containers.md)", err)
	}
	if _, missing := look("fusermount3"); missing != nil {
		return fmt.Errorf("ordinary users mount by fusermount3, which is missing: install the package fuse3 (%w)", err)
	}
	return err
}

func openFuse() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// mountFailed is mountAdvice for this process.
func mountFailed(err error) error { return mountAdvice(err, os.Geteuid(), openFuse, exec.LookPath) }
