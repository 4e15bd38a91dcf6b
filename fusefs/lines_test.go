package fusefs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/fusefs"
	"ctxfs/room"
)

// meeting is a room in which the file a/lines is one of lines. Each append
// waits until so many are under way.
type meeting struct {
	room.Room
	mu   sync.Mutex // guards what follows
	want int
	all  chan struct{} // closed when they are there
}

type meetingFile struct {
	backing.File
	m *meeting
}

const linesFile = "a/lines"

func (m *meeting) Stat(ctx context.Context, path string) (room.Info, error) {
	info, err := m.Room.Stat(ctx, path)
	info.Lines = path == linesFile
	return info, err
}

func (m *meeting) Write(ctx context.Context, c room.Caller, path string, o room.Create) (room.File, room.Info, error) {
	f, info, err := m.Room.Write(ctx, c, path, o)
	if err != nil || path != linesFile {
		return f, info, err
	}
	info.Lines = true
	return &meetingFile{f.(backing.File), m}, info, nil
}

func (f *meetingFile) Append(p []byte) (int, error) {
	f.m.mu.Lock()
	if f.m.want--; f.m.want == 0 {
		close(f.m.all)
	}
	f.m.mu.Unlock()
	select {
	case <-f.m.all:
		return len(p), nil
	case <-time.After(30 * time.Second):
		return 0, errors.New("the others do not come")
	}
}

func TestManyAppendToAFileOfLinesAtOnce(t *testing.T) {
	const writers = 5
	var met *meeting
	m := mount(t, func(o *fusefs.Options) {
		met = &meeting{Room: o.Root, want: writers, all: make(chan struct{})}
		o.Root = met
	})
	m.write(linesFile, "")
	var open []*os.File
	for range writers {
		f, err := os.OpenFile(m.path(linesFile), os.O_WRONLY|os.O_APPEND, 0)
		m.must(err)
		open = append(open, f)
	}
	var wg sync.WaitGroup
	for _, f := range open {
		wg.Go(func() {
			_, err := f.WriteString("line\n")
			if err = errors.Join(err, f.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpensOfAFileOfLinesAreOneFile(t *testing.T) {
	m := mount(t, func(o *fusefs.Options) { o.Root = &meeting{Room: o.Root, want: 1, all: make(chan struct{})} })
	m.write(linesFile, "")
	var inodes []string
	var open []*os.File
	for range 3 {
		f, err := os.OpenFile(m.path(linesFile), os.O_RDWR|os.O_APPEND, 0)
		m.must(err)
		defer f.Close()
		open = append(open, f)
		for _, name := range []string{m.path(linesFile), fmt.Sprintf("/proc/self/fd/%d", f.Fd())} {
			var st unix.Stat_t
			m.must(unix.Stat(name, &st))
			inodes = append(inodes, fmt.Sprint(st.Dev, " ", st.Ino))
		}
	}
	if got := strings.Join(inodes, ", "); strings.Count(got, inodes[0]) != len(inodes) {
		t.Errorf("the device and number of one file: %s", got)
	}
	m.must(unix.Flock(int(open[0].Fd()), unix.LOCK_EX))
	m.wantErrno("flock of a locked file", unix.Flock(int(open[2].Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	m.must(unix.Flock(int(open[0].Fd()), unix.LOCK_UN))
	m.must(unix.Flock(int(open[2].Fd()), unix.LOCK_EX|unix.LOCK_NB))
}
