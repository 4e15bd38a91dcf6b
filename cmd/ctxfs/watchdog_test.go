package main

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A daemon can be killed before its watchdog listens.
func TestWatchdogHearsASignalThatCameTooEarly(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(ended.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	daemon := os.NewFile(uintptr(fd), "daemon")
	defer daemon.Close()
	if err := ended.Wait(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // and never unlocked: its signals are blocked
	for early := 0; early < 24; early += 3 {
		dog := watchdogOf(daemon, 0, "/nowhere")
		if err := startListening(dog); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(early) * time.Millisecond)
		if err := dog.Process.Signal(daemonEnds); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(20*time.Second, func() { _ = dog.Process.Kill() })
		if err := dog.Wait(); err != nil {
			t.Errorf("signalled %d ms after its start: %v", early, err)
		}
		late.Stop()
	}
}
