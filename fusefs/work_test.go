package fusefs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/fusefs"
)

// mountWork mounts with the file .ctxfs/task, and opens it.
func mountWork(t *testing.T, do fusefs.Work) (mounted, *os.File) {
	t.Helper()
	m := mount(t, func(o *fusefs.Options) { o.Work = map[string]fusefs.Work{"task": do} })
	f, err := os.OpenFile(m.path(".ctxfs/task"), os.O_RDWR, 0)
	m.must(err)
	t.Cleanup(func() { _ = f.Close() }) // mostly closed already
	return m, f
}

func TestARequestIsAnsweredAsTheAnswerComes(t *testing.T) {
	goOn := make(chan bool)
	m, f := mountWork(t, func(ctx context.Context, request []byte, answer io.Writer, _ func(string)) error {
		fmt.Fprintf(answer, "begun %s\n", request)
		<-goOn
		_, err := answer.Write(bytes.Repeat([]byte("x"), 1<<20)) // more than is held back
		return err
	})
	if n, err := f.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("before a request it says %d bytes, %v", n, err)
	}
	_, err := f.WriteString("this")
	m.must(err)
	first := make([]byte, 100)
	n, err := f.Read(first)
	if string(first[:n]) != "begun this\n" || err != nil {
		t.Errorf("it begins with %q, %v", first[:n], err)
	}
	_, err = f.WriteString("that")
	m.wantErrno("a second request", err, unix.EBUSY)
	close(goOn)
	rest, err := io.ReadAll(f)
	if len(rest) != 1<<20 || err != nil {
		t.Errorf("the rest has %d bytes, %v", len(rest), err)
	}
	m.must(f.Close())
	usage, err := os.ReadFile(m.path(".ctxfs/task"))
	if !strings.Contains(string(usage), "ctxfs task") || err != nil {
		t.Errorf("without a request it says %q, %v", usage, err)
	}
	info, err := os.Stat(m.path(".ctxfs/task"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
}

// A Go program gets signals that it has not asked for.
func TestAReaderThatIsInterruptedDoesNotTakeThatForTheEnd(t *testing.T) {
	goOn := make(chan bool)
	m, f := mountWork(t, func(ctx context.Context, _ []byte, answer io.Writer, _ func(string)) error {
		<-goOn
		_, err := answer.Write([]byte("done"))
		return err
	})
	_, err := f.WriteString("go")
	m.must(err)
	thread, ended := make(chan int), make(chan struct{})
	var n int
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		n, err = unix.Read(int(f.Fd()), make([]byte, 10)) // not again after EINTR, as os.File does
	}()
	tid := <-thread
	for waits := true; waits; { // in the kernel already, or not yet
		m.must(unix.Tgkill(unix.Getpid(), tid, unix.SIGURG))
		select {
		case <-ended:
			waits = false
		case <-time.After(time.Millisecond):
		}
	}
	if n > 0 || err != unix.EINTR {
		t.Errorf("it gets %d bytes, %v", n, err)
	}
	close(goOn)
	if rest, err := io.ReadAll(f); string(rest) != "done" || err != nil {
		t.Errorf("then %q, %v", rest, err)
	}
}

func TestWorkEndsWhenItsFileIsClosed(t *testing.T) {
	ended := make(chan error, 1)
	m, f := mountWork(t, func(ctx context.Context, _ []byte, answer io.Writer, _ func(string)) error {
		var err error
		for err == nil { // nobody reads
			_, err = answer.Write(make([]byte, 1<<16))
		}
		ended <- err
		return err
	})
	_, err := f.WriteString("go")
	m.must(err)
	m.must(f.Close())
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestWhatWorkRemovesIsGoneWhenItAnswers(t *testing.T) {
	var m mounted
	m, f := mountWork(t, func(_ context.Context, request []byte, _ io.Writer, changing func(string)) error {
		changing("a/" + name1)
		return os.Remove(filepath.Join(string(request), "a", name1))
	})
	m.write("a/"+name1, entry("text"))
	reader, err := os.Open(m.path("a", name1)) // which has not read yet
	m.must(err)
	_, err = f.WriteString(m.store)
	m.must(err)
	if _, err := io.ReadAll(f); err != nil {
		t.Error(err)
	}
	_, err = os.Stat(m.path("a", name1))
	m.wantErrno("stat", err, unix.ENOENT)
	if names, err := os.ReadDir(m.path("a")); len(names) > 0 || err != nil {
		t.Errorf("the directory lists %v, %v", names, err)
	}
	text, err := io.ReadAll(reader)
	if string(text) != entry("text") || err != nil {
		t.Errorf("who has it open reads %q, %v", text, err)
	}
	m.must(errors.Join(reader.Close(), f.Close()))
}
