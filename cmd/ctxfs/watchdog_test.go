package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The signal of a daemon that was killed at once came before anybody listened.
func TestWatchdogEndsWithADaemonWhoseSignalIsLost(t *testing.T) {
	daemon := exec.Command("sleep", "60")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(daemon.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	told := make(chan os.Signal, 1)
	told <- daemonEnds
	if gone, err := awaitEnd(fd, told); gone || err != nil {
		t.Errorf("told that it ends, of a daemon that is there: gone %v, %v", gone, err)
	}
	done := make(chan error, 1)
	go func() {
		gone, err := awaitEnd(fd, nil)
		if err == nil && !gone {
			t.Error("nobody told it, and it is not gone")
		}
		done <- err
	}()
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = daemon.Wait() // by that signal
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the watchdog waits for a daemon that has ended")
	}
}
