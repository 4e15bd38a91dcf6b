package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// abort ends the connection of a mount whose daemon does not answer, and
// takes it out of the tree.
func abort(out io.Writer, m mount) error {
	if err := abortConnection(m); err != nil {
		fmt.Fprintf(out, "cannot abort the connection (%v); processes that wait for it go on waiting\n", err)
	}
	if err := detach(m.Point); err != nil {
		return fmt.Errorf("detach %s: %w", m.Point, err)
	}
	fmt.Fprintf(out, "%s is out of the tree\n", m.Point)
	return nil
}

// abortConnection ends the connection of a mount: files that are open in it
// fail from then on.
func abortConnection(m mount) error {
	// Opened without O_CREATE: where the control file system is not mounted
	// there is nothing to write to, and detaching must do.
	f, err := os.OpenFile(fmt.Sprintf("/sys/fs/fuse/connections/%d/abort", m.Conn), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("1")
	return errors.Join(err, f.Close())
}
