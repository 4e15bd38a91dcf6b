package live

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// entryKinds are the steps on an entry: those of ordinary files, and the ways
// in which programs save. What a writer does to an open entry is seen by others
// when it is committed.
var entryKinds = []string{"open", "open", "touch", "close", "close", "write", "write", "retype", "append", "append", "own line",
	"truncate", "truncate by name", "whole", "whole", "same", "rename onto", "rename bad onto", "begin badly", "sync",
	"read", "read by name", "read mapped", "keep open", "read kept", "read kept", "versions", "stat", "remove"}

// entryModel is what one entry must be. Its own states are in fsx_text_test.go.
type entryModel struct {
	mount, path string // path from the top of the mount
	r           *rand.Rand
	saves       int

	now      saved // what is committed
	pending  bool  // an empty new file stands under the name
	versions []string

	kept *os.File // opened for reading some steps ago
	seen string   // by it

	file  *os.File // open for writing
	base  saved    // what it was opened on
	draft string
	dirty bool // it has changed since its last commit
	made  bool // it made the new file
	mine  bool // what is committed is this open's
}

func newEntryModel(mount, where string, run int) player {
	path := fmt.Sprintf("%s/20260221T143022-%d.md", where, run)
	return &entryModel{mount: mount, path: path, r: rand.New(rand.NewPCG(*seed, uint64(run)))}
}

func (m *entryModel) name() string { return filepath.Join(m.mount, m.path) }

func (m *entryModel) end() {
	for _, f := range []*os.File{m.file, m.kept} {
		if f != nil {
			f.Close() // an error of it was looked for in the steps
		}
	}
}

func (m *entryModel) do(s step) error {
	if m.file != nil {
		if done, err := m.doOpen(s); done {
			return err
		}
		return m.look(s)
	}
	switch s.what {
	case "open":
		return m.open(s)
	case "touch":
		f, err := os.OpenFile(m.name(), os.O_WRONLY|os.O_CREATE, 0o644)
		m.pending = !m.now.there
		return errors.Join(err, f.Close())
	case "whole", "write":
		m.begin(nil)
		return m.save(someEntry(s), os.O_CREATE|os.O_TRUNC, 1+s.at%4)
	case "rename onto":
		return m.rename(someEntry(s))
	case "rename bad onto":
		return m.rename(strings.Replace(someEntry(s), "type: ", "typ: ", 1))
	case "begin badly":
		return m.beginBadly()
	case "remove":
		return m.remove()
	}
	if !m.now.there {
		return m.look(s)
	}
	return m.change(s)
}

// change does what needs an entry that is there, and nobody writing to it.
func (m *entryModel) change(s step) error {
	m.begin(nil)
	switch s.what {
	case "same":
		return m.save(m.now.content(), os.O_TRUNC, 1+s.at%4)
	case "append":
		m.draft = m.now.content()
		return m.save(someText(s), os.O_APPEND, 1+s.at%4)
	case "own line":
		m.draft = m.now.content()
		return m.save(m.ownLine(), os.O_APPEND, 1)
	case "truncate by name":
		size := cutAt(m.now.content(), s.at)
		m.draft = string(resized([]byte(m.now.content()), size))
		return m.committed(os.Truncate(m.name(), int64(size)))
	}
	return m.look(s)
}

// begin notes what an open for writing sees.
func (m *entryModel) begin(f *os.File) {
	m.file, m.base, m.draft, m.dirty, m.mine = f, m.now, "", f == nil, false
	m.made = !m.now.there && !m.pending
	m.pending = !m.now.there
}

func (m *entryModel) open(s step) error {
	f, err := os.OpenFile(m.name(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	m.begin(f)
	m.draft = m.now.content()
	return nil
}

// save opens, writes text in pieces, and closes.
func (m *entryModel) save(text string, flags, pieces int) error {
	f, err := os.OpenFile(m.name(), os.O_WRONLY|flags, 0o644)
	if err != nil {
		return err
	}
	if err := inPieces(f, text, pieces); err != nil {
		return errors.Join(err, f.Close())
	}
	m.draft += text
	return m.committed(f.Close())
}

func inPieces(w io.Writer, text string, pieces int) error {
	for i := range pieces {
		piece := text[len(text)*i/pieces : len(text)*(i+1)/pieces]
		if _, err := io.WriteString(w, piece); err != nil {
			return err
		}
	}
	return nil
}

func (m *entryModel) rename(text string) error {
	pending := m.pending
	m.begin(nil)
	m.pending, m.made = pending, false
	other := filepath.Join(filepath.Dir(m.name()), "saving.tmp")
	if err := os.WriteFile(other, []byte(text), 0o644); err != nil {
		return err
	}
	m.draft = text
	err := os.Rename(other, m.name())
	if err := m.committed(err); err != nil {
		return err
	}
	if err != nil {
		return os.Remove(other) // what was refused stays where it was
	}
	if _, err := os.Lstat(other); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("it was renamed onto the entry, and stat says %v", err)
	}
	return nil
}

// beginBadly is told at the first write.
func (m *entryModel) beginBadly() error {
	m.begin(nil)
	f, err := os.OpenFile(m.name(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	m.draft = "no frontmatter\n"
	_, err = f.WriteString(m.draft)
	if cerr := f.Close(); cerr != nil && !errors.Is(cerr, unix.EINVAL) {
		return cerr
	}
	if !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("a write that cannot become an entry says %v", err)
	}
	return m.refused()
}

func (m *entryModel) remove() error {
	err := os.Remove(m.name())
	switch {
	case m.now.there && !errors.Is(err, unix.EPERM):
		return fmt.Errorf("unlink says %v", err)
	case !m.now.there && m.pending != (err == nil):
		return fmt.Errorf("unlink of a new file says %v", err)
	}
	m.pending = false
	return nil
}
