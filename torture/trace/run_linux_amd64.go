package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Run runs p to its end and asks plan before each call. All of plan's calls
// come from one goroutine. Where the kernel does not let this process trace
// another one, the error says so.
func Run(p Program, plan func(Call) Action) (Result, error) {
	type outcome struct {
		Result
		error
	}
	done := make(chan outcome)
	go func() {
		// Every ptrace request must come from the thread that began to trace,
		// and that thread must have no other children: it ends with this.
		runtime.LockOSThread()
		r, err := run(p, plan)
		done <- outcome{r, err}
	}()
	o := <-done
	return o.Result, o.error
}

func run(p Program, plan func(Call) Action) (Result, error) {
	out, err := newPipe()
	if err != nil {
		return Result{}, err
	}
	errs, err := newPipe()
	if err != nil {
		out.drop()
		return Result{}, err
	}
	pid, err := syscall.ForkExec(p.Args[0], p.Args, &syscall.ProcAttr{
		Env: p.Env, Files: []uintptr{0, out.w.Fd(), errs.w.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		out.drop()
		errs.drop()
		if errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("ptrace is not permitted here (in a container it needs --cap-add SYS_PTRACE): %w", err)
		}
		return Result{}, fmt.Errorf("start %s: %w", p.Args[0], err)
	}
	out.collect(p.Said)
	errs.collect(nil)
	t := &tracer{pid: pid, dir: p.Dir, plan: plan, killed: p.Killed, seen: map[Call]int{}}
	late := time.AfterFunc(p.Limit, func() { _ = t.kill() }) // of what has ended by itself
	err = t.follow()
	if err != nil {
		_ = t.kill()
		err = errors.Join(fmt.Errorf("trace %s: %w", p.Args[0], err), t.reap())
	}
	t.result.Stdout, t.result.Stderr = out.rest(), errs.rest()
	if !late.Stop() && err == nil {
		err = fmt.Errorf("%s did not end within %v", p.Args[0], p.Limit)
	}
	return t.result, err
}

// pipe collects what a program says.
type pipe struct {
	r, w *os.File
	text bytes.Buffer
	done chan struct{}
}

func newPipe() (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	return &pipe{r: r, w: w, done: make(chan struct{})}, nil
}

func (p *pipe) drop() {
	p.r.Close()
	p.w.Close()
}

// collect closes the writing end and reads until all others have done so.
func (p *pipe) collect(said func(string)) {
	p.w.Close()
	go func() {
		defer close(p.done)
		defer p.r.Close()
		for r := bufio.NewReader(p.r); ; {
			line, err := r.ReadString('\n')
			p.text.WriteString(line)
			if said != nil && err == nil {
				said(line[:len(line)-1])
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					fmt.Fprintf(&p.text, "(lost: %v)\n", err)
				}
				return
			}
		}
	}()
}

func (p *pipe) rest() string {
	<-p.done
	return p.text.String()
}
