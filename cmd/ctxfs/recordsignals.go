package main

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// relayed are the signals that are passed on. Those of the keyboard are not
// where the terminal has sent them to the command too.
var (
	relayed  = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	keyboard = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
)

type signals struct {
	in   chan os.Signal
	done chan struct{}
	over sync.WaitGroup
}

// relay begins to take signals. What is ignored stays ignored, for the
// command too.
func relay() *signals {
	s := &signals{in: make(chan os.Signal, 16), done: make(chan struct{})}
	for _, sig := range slices.Concat(relayed, keyboard) {
		if !signal.Ignored(sig) {
			signal.Notify(s.in, sig)
		}
	}
	// Taken so that a write to a reader who has gone is an error: the command
	// gets the signal then.
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(s.in, syscall.SIGPIPE)
	}
	return s
}

// to passes the signals on to p.
func (s *signals) to(p *os.Process) {
	s.over.Go(func() {
		for {
			select {
			case <-s.done:
				return
			case sig := <-s.in:
				if sig == syscall.SIGPIPE || slices.Contains(keyboard, sig) && inForeground() {
					continue
				}
				// It may have ended meanwhile.
				_ = p.Signal(sig)
			}
		}
	})
}

func (s *signals) end() {
	signal.Stop(s.in)
	close(s.done)
	s.over.Wait()
}

// inForeground reports whether the keys of a terminal signal this process.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
