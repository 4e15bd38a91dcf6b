package fusefs

import (
	"fmt"
	"os/exec"
	"strings"
)

// fusermount runs the setuid helper of package fuse3, through which ordinary
// users mount and unmount.
func fusermount(args ...string) error {
	out, err := exec.Command("fusermount3", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fusermount3 %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
