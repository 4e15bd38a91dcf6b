package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// readiness tells whoever waits how the start goes: the process that started
// the daemon over a pipe, systemd over its socket, else standard error.
type readiness struct {
	pipe   *os.File // nil where nobody waits
	socket string   // $NOTIFY_SOCKET
}

func newReadiness(fd int, getenv func(string) string) *readiness {
	r := &readiness{socket: getenv("NOTIFY_SOCKET")}
	if fd != 0 {
		syscall.CloseOnExec(fd) // fusermount3 must not keep it open
		r.pipe = os.NewFile(uintptr(fd), "readiness pipe")
	}
	return r
}

// say passes on something that the user should know.
func (r *readiness) say(text string) {
	if r.pipe == nil {
		fmt.Fprintln(os.Stderr, harmless(text))
		return
	}
	r.tell(saySomething, text)
}

// failed passes on why there will be no mount, and returns it.
func (r *readiness) failed(err error) error {
	if r.pipe == nil {
		return err
	}
	r.tell(sayFailed, err.Error())
	return err
}

// ready says that the mount serves.
func (r *readiness) ready(text string) error {
	if r.pipe == nil {
		fmt.Fprintln(os.Stderr, harmless(text))
	} else {
		r.tell(sayReady, text)
		if err := r.pipe.Close(); err != nil {
			return fmt.Errorf("close the readiness pipe: %w", err)
		}
	}
	return notify(r.socket, "READY=1\nSTATUS="+text)
}

// tell cannot fail in a way that matters: if nobody listens any more, the
// starting process was killed, and the mount is still wanted.
func (r *readiness) tell(kind, text string) {
	_, _ = fmt.Fprintln(r.pipe, kind+strings.ReplaceAll(text, "\n", " "))
}

// notify sends state to the socket of sd_notify(3), if there is one.
func notify(socket, state string) error {
	if socket == "" {
		return nil
	}
	// A leading @ is the abstract name space, which package net spells so too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}
