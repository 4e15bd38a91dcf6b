package trace

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// tracer follows one process group.
type tracer struct {
	pid    int // of the first process, and of the group
	dir    string
	plan   func(Call) Action
	killed func()
	seen   map[Call]int // without N
	last   int          // thread that is killed when its call returns; 0 for none
	result Result
}

const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL

// syscallStop is the signal of a stop at the end of a system call, as
// PTRACE_O_TRACESYSGOOD marks it.
const syscallStop = unix.SIGTRAP | 0x80

// follow traces until nothing of the group is left.
func (t *tracer) follow() error {
	if _, _, err := t.wait(t.pid); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(t.pid, options); err != nil {
		return fmt.Errorf("ptrace is not permitted here: %w", err)
	}
	if err := unix.PtraceCont(t.pid, 0); err != nil {
		return err
	}
	for {
		tid, status, err := t.wait(-t.pid)
		if err == unix.ECHILD {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case status.Exited() && tid == t.pid:
			t.result.Exit = status.ExitStatus()
		case status.Signaled() && tid == t.pid:
			t.result.Exit = 128 + int(status.Signal())
		case status.Stopped():
			// A thread may be killed between its stop and the next request.
			if err := t.stopped(tid, status); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
}

// wait waits for a thread of the group, that this thread traces: other
// children of the process belong to others.
func (t *tracer) wait(pid int) (tid int, status unix.WaitStatus, err error) {
	for {
		tid, err = unix.Wait4(pid, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err != unix.EINTR {
			return tid, status, err
		}
	}
}

// reap waits for what was killed.
func (t *tracer) reap() error {
	for {
		if _, _, err := t.wait(-t.pid); err == unix.ECHILD {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (t *tracer) stopped(tid int, status unix.WaitStatus) error {
	sig := status.StopSignal()
	switch {
	case status.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		return t.called(tid)
	case sig == syscallStop:
		if tid == t.last {
			t.last = 0
			return t.kill()
		}
		return unix.PtraceCont(tid, 0)
	case sig == unix.SIGTRAP, sig == unix.SIGSTOP: // an event, or a thread's first stop
		return unix.PtraceCont(tid, 0)
	}
	return unix.PtraceCont(tid, int(sig))
}

// called decides about the call before which tid stands.
func (t *tracer) called(tid int) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	call, file, ours := look(tid, &regs, t.dir)
	if !ours || t.result.Killed {
		return unix.PtraceCont(tid, 0)
	}
	t.seen[call]++
	n := t.seen[call]
	call.N, call.File = n, file
	if call.Syncs() {
		call.Site = site(tid, &regs)
	}
	t.result.Calls = append(t.result.Calls, call)
	switch a := t.plan(call); {
	case a.Kill && a.After:
		t.last = tid
		t.result.Killed = true
		return unix.PtraceSyscall(tid, 0)
	case a.Kill:
		t.result.Killed = true
		return t.kill()
	case a.Fail != 0:
		return errors.Join(answer(tid, &regs, -int64(a.Fail)), unix.PtraceCont(tid, 0))
	case a.Fake:
		return errors.Join(answer(tid, &regs, 0), unix.PtraceCont(tid, 0))
	}
	return unix.PtraceCont(tid, 0)
}

// kill kills the group. Its limit calls it from a goroutine of its own.
func (t *tracer) kill() error {
	err := unix.Kill(-t.pid, unix.SIGKILL)
	if t.killed != nil {
		t.killed()
	}
	return err
}
