package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

var fileKinds = []string{"open", "open", "open trunc", "close", "close", "write", "write", "write", "append", "truncate",
	"truncate by name", "read", "read", "read by name", "read mapped", "sync", "rename", "remove", "stat"}

// fileModel is what one ordinary file, or one variable, must be. Where there are drafts, what is written is
// seen by others from close or fsync on.
type fileModel struct {
	names   [2]string // it is renamed between them
	at      int
	drafts  bool
	there   bool
	content []byte // for who opens it
	file    *os.File
	own     []byte // through file
}

func newFileModel(mount, where string, run int) player {
	m := fileModel{drafts: strings.HasPrefix(where, "vars/")}
	for i := range m.names {
		m.names[i] = filepath.Join(mount, fmt.Sprintf("%s-%d-%d", where, run, i))
	}
	return &m
}

func (m *fileModel) end() {
	if m.file != nil {
		m.file.Close() // an error of it was looked for in the steps
	}
}

func (m *fileModel) name() string { return m.names[m.at] }

func (m *fileModel) publish() { m.there, m.content = true, bytes.Clone(m.own) }

// changed is called after a change through the file.
func (m *fileModel) changed() {
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
func (m *fileModel) do(s step) error {
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

func (m *fileModel) open(s step) error {
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
func (m *fileModel) doOpen(s step) error {
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
func (m *fileModel) look(s step) error {
	switch s.what {
	case "read by name":
		got, err := os.ReadFile(m.name())
		return errors.Join(err, same("read by name", got, m.content))
	case "read mapped":
		if len(m.content) == 0 {
			return nil
		}
		return mapped(m.name(), m.content)
	}
	return nil
}

// mapped compares a file that is mapped into memory.
func mapped(name string, want []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ, unix.MAP_SHARED)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return errors.Join(same("mapped", b, want), unix.Munmap(b))
}
