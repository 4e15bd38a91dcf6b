package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// taps are the pipes between the command and our own streams.
type taps struct {
	kept   *keeper
	note   string
	inner  []*os.File // the command's ends
	copies []func() error
	over   sync.WaitGroup
	mu     sync.Mutex // guards err
	err    error
}

// tap puts a pipe into each output stream that is no terminal; one for both
// where both are the same, so that their order stays.
func tap(cmd *exec.Cmd) (*taps, error) {
	t := &taps{}
	out, errs := isTerminal(os.Stdout), isTerminal(os.Stderr)
	switch {
	case out && errs:
		t.note = "the output went to a terminal and was not recorded"
		return t, nil
	case out:
		t.note = "standard output went to a terminal and was not recorded"
	case errs:
		t.note = "standard error went to a terminal and was not recorded"
	}
	t.kept = &keeper{}
	if !out {
		w, err := t.pipe(os.Stdout)
		if err != nil {
			return nil, err
		}
		cmd.Stdout = w
		if same(os.Stdout, os.Stderr) {
			cmd.Stderr = w
			return t, nil
		}
	}
	if !errs {
		w, err := t.pipe(os.Stderr)
		if err != nil {
			return nil, err
		}
		cmd.Stderr = w
	}
	return t, nil
}

func (t *taps) pipe(to *os.File) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("record the output: %w", err)
	}
	t.inner = append(t.inner, w)
	t.copies = append(t.copies, func() error { return t.kept.pass(r, to) })
	return w, nil
}

// begun starts to copy, after the command has its ends.
func (t *taps) begun() {
	for _, w := range t.inner {
		w.Close()
	}
	for _, c := range t.copies {
		t.over.Go(func() {
			if err := c(); err != nil {
				t.mu.Lock()
				t.err = errors.Join(t.err, err)
				t.mu.Unlock()
			}
		})
	}
}

// wait returns when all that was written has been passed on.
func (t *taps) wait() error {
	t.over.Wait()
	return t.err
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// keepEnd is how much of the beginning, and of the end, of an output is kept,
// in bytes.
const keepEnd = 32 << 10

// keeper keeps the beginning and the end of what passes.
type keeper struct {
	mu         sync.Mutex // guards all below
	head, tail []byte
	total      int64
}

// pass copies from one stream to another, to its end. Where nobody reads any
// more the writer is told as it would be without us.
func (k *keeper) pass(from, to *os.File) error {
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		k.keep(buf[:n])
		if _, werr := to.Write(buf[:n]); werr != nil {
			if errors.Is(werr, syscall.EPIPE) {
				return nil
			}
			return fmt.Errorf("pass the output on: %w", werr)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output: %w", err)
		}
	}
}

func (k *keeper) keep(p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total += int64(len(p))
	n := min(len(p), keepEnd-len(k.head))
	k.head = append(k.head, p[:n]...)
	k.tail = append(k.tail, p[n:]...)
	if over := len(k.tail) - keepEnd; over > 0 {
		k.tail = append(k.tail[:0:0], k.tail[over:]...)
	}
}

// text is what was kept, with a line where something was left out.
func (k *keeper) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	head, tail := string(k.head), string(k.tail)
	if left := k.total - int64(len(head)+len(tail)); left > 0 {
		head += fmt.Sprintf("\n[%d bytes left out]\n", left)
	}
	return strings.ToValidUTF8(head+tail, "\uFFFD")
}
