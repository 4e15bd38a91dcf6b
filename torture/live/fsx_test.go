package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// step is one random operation; what does not apply to the state is left out.
type step struct {
	what   string
	at, n  int
	filler byte
}

func (s step) String() string { return fmt.Sprintf("%s(%d, %d, %q)", s.what, s.at, s.n, s.filler) }

var kinds = []string{"open", "open", "open trunc", "close", "close", "write", "write", "write", "append", "truncate",
	"truncate by name", "read", "read", "read by name", "read mapped", "sync", "rename", "remove", "stat"}

const longest = 70_000 // bytes

func steps(r *rand.Rand, n int) []step {
	all := make([]step, n)
	for i := range all {
		all[i] = step{kinds[r.IntN(len(kinds))], r.IntN(longest), 1 + r.IntN(9000), byte('a' + r.IntN(26))}
	}
	return all
}

// model is what one file must be. Where there are drafts, what is written is
// seen by others from close or fsync on.
type model struct {
	names   [2]string // it is renamed between them
	at      int
	drafts  bool
	there   bool
	content []byte // for who opens it
	file    *os.File
	own     []byte // through file
}

func (m *model) name() string { return m.names[m.at] }

func (m *model) publish() { m.there, m.content = true, bytes.Clone(m.own) }

// changed is called after a change through the file.
func (m *model) changed() {
	if !m.drafts {
		m.publish()
	}
}

func resized(b []byte, n int) []byte {
	if n <= len(b) {
		return bytes.Clone(b[:n])
	}
	return append(bytes.Clone(b), make([]byte, n-len(b))...)
}

func same(what string, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	return fmt.Errorf("%s: %d bytes, want %d; they differ from %d on", what, len(got), len(want), i)
}

// do does one step, and compares.
func (m *model) do(s step) error {
	if m.file != nil {
		return m.doOpen(s)
	}
	switch {
	case strings.HasPrefix(s.what, "open"):
		return m.open(s)
	case !m.there:
		if _, err := os.Stat(m.name()); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is not there, and stat says %v", err)
		}
		return nil
	}
	switch s.what {
	case "append":
		f, err := os.OpenFile(m.name(), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		text := bytes.Repeat([]byte{s.filler}, s.n)
		_, err = f.Write(text)
		m.content = append(bytes.Clone(m.content), text...)
		return errors.Join(err, f.Close())
	case "truncate by name":
		m.content = resized(m.content, s.at)
		return os.Truncate(m.name(), int64(s.at))
	case "rename":
		m.at = 1 - m.at
		return os.Rename(m.names[1-m.at], m.name())
	case "remove":
		m.there = false
		return os.Remove(m.name())
	}
	return m.look(s)
}

func (m *model) open(s step) error {
	flags := os.O_RDWR | os.O_CREATE
	m.own = nil
	if m.there {
		m.own = bytes.Clone(m.content)
	}
	if s.what == "open trunc" {
		flags |= os.O_TRUNC
		m.own = nil
	}
	var err error
	if m.file, err = os.OpenFile(m.name(), flags, 0o644); err != nil {
		return err
	}
	if m.there {
		m.changed()
		return nil
	}
	// A new file that nobody writes to is a matter of each room.
	return m.doOpen(step{"write", 0, s.n, s.filler})
}

// doOpen is a step through the open file.
func (m *model) doOpen(s step) error {
	switch s.what {
	case "close":
		f := m.file
		m.file = nil
		m.publish()
		return f.Close()
	case "sync":
		m.publish()
		return m.file.Sync()
	case "write":
		m.own = resized(m.own, max(len(m.own), s.at+s.n))
		text := bytes.Repeat([]byte{s.filler}, s.n)
		copy(m.own[s.at:], text)
		_, err := m.file.WriteAt(text, int64(s.at))
		m.changed()
		return err
	case "truncate":
		m.own = resized(m.own, s.at)
		m.changed()
		return m.file.Truncate(int64(s.at))
	case "read":
		got := make([]byte, s.n)
		n, err := m.file.ReadAt(got, int64(s.at))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		from := min(s.at, len(m.own))
		return same("read", got[:n], m.own[from:min(from+s.n, len(m.own))])
	case "stat":
		info, err := m.file.Stat()
		if err == nil && info.Size() != int64(len(m.own)) {
			err = fmt.Errorf("fstat says %d bytes, want %d", info.Size(), len(m.own))
		}
		return err
	}
	if m.there {
		return m.look(s)
	}
	return nil
}

// look is what somebody else sees.
func (m *model) look(s step) error {
	switch s.what {
	case "read by name":
		got, err := os.ReadFile(m.name())
		return errors.Join(err, same("read by name", got, m.content))
	case "read mapped":
		if len(m.content) == 0 {
			return nil
		}
		f, err := os.Open(m.name())
		if err != nil {
			return err
		}
		b, err := unix.Mmap(int(f.Fd()), 0, len(m.content), unix.PROT_READ, unix.MAP_SHARED)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return errors.Join(same("mapped", b, m.content), unix.Munmap(b))
	}
	return nil
}

// play does the steps on new files of that name, and returns the number of
// the first that goes wrong.
func play(mount, where string, run int, all []step) (int, error) {
	m := model{drafts: strings.HasPrefix(where, "vars/")}
	for i := range m.names {
		m.names[i] = filepath.Join(mount, fmt.Sprintf("%s-%d-%d", where, run, i))
	}
	defer func() {
		if m.file != nil {
			m.file.Close() // an error of it was looked for in the steps
		}
	}()
	for i, s := range all {
		if err := m.do(s); err != nil {
			return i, fmt.Errorf("%v: %w", s, err)
		}
	}
	return len(all), nil
}

// shortest leaves out steps as long as it goes wrong still.
func shortest(mount, where string, all []step) []step {
	run := 1_000_000
	for size := len(all) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(all); {
			less := append(append([]step{}, all[:from]...), all[from+size:]...)
			run++
			if n, err := play(mount, where, run, less); err != nil {
				all = less[:n+1]
				continue
			}
			from += size
		}
	}
	return all
}

func TestRandomOperationsAreAsTheModelSays(t *testing.T) {
	needRoot(t)
	if !*full {
		return // one run in a hundred meets what docs/reliability.md names as open
	}
	const count, each = 500_000, 250
	d := start(t, raced(), t.TempDir())
	if err := os.Mkdir(filepath.Join(d.Point, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, where := range []string{"a/scratch", "vars/global/v"} {
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		tried, held := 0, 0
		for run := 0; tried < count && !t.Failed(); run++ {
			all := steps(r, each)
			tried += each
			n, err := play(d.Point, where, run, all)
			if err != nil {
				t.Errorf("%s, seed %d, run %d, step %d: %v", where, *seed, run, n, err)
				for _, s := range shortest(d.Point, where, all[:n+1]) {
					t.Log(s)
				}
			}
			held += n
		}
		table.Add("random operations on "+where, tried, held, fmt.Sprintf("against a model, seed %d", *seed))
	}
}
