package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// look is what somebody else sees.
func (m *entryModel) look(s step) error {
	switch s.what {
	case "read by name":
		return m.check(m.now.content())
	case "read mapped":
		if m.now.there {
			return mapped(m.name(), []byte(m.now.content()))
		}
	case "keep open":
		return m.keepOpen()
	case "read kept":
		if m.kept != nil {
			got := make([]byte, s.n)
			n, err := m.kept.ReadAt(got, int64(s.at%10_000))
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			return same("read of what was opened before", got[:n], part(m.seen, s.at%10_000, s.n))
		}
	case "versions":
		return m.checkVersions()
	}
	return nil
}

func (m *entryModel) keepOpen() error {
	if !m.now.there {
		return nil
	}
	var err error
	if m.kept != nil {
		err = m.kept.Close()
	}
	m.seen = m.now.content()
	var oerr error
	m.kept, oerr = os.Open(m.name())
	return errors.Join(err, oerr)
}

// check reads the entry by its name; a pending one is empty.
func (m *entryModel) check(want string) error {
	got, err := os.ReadFile(m.name())
	if !m.now.there && !m.pending {
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is not there, and read says %v", err)
		}
		return nil
	}
	return errors.Join(err, same("read by name", got, []byte(want)))
}

func (m *entryModel) checkVersions() error {
	dir := filepath.Join(m.mount, ".ctxfs/versions", m.path)
	list, err := os.ReadDir(dir)
	if err != nil && (len(m.versions) > 0 || !errors.Is(err, os.ErrNotExist)) {
		return err
	}
	if len(list) != len(m.versions) {
		return fmt.Errorf("it has %d versions, want %d", len(list), len(m.versions))
	}
	for _, i := range []int{m.r.IntN(len(list) + 1), len(list)} {
		if i == 0 {
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
		if err := errors.Join(err, same(fmt.Sprintf("version %d", i), got, []byte(m.versions[i-1]))); err != nil {
			return err
		}
	}
	return nil
}

// committed compares what a close, an fsync or a rename came to. Whether the
// draft is right says fsx_text_test.go.
func (m *entryModel) committed(err error) error {
	if !m.dirty {
		return err
	}
	want, change, ok := m.base.with(m.draft)
	if !ok && (m.draft != "" || m.now.there) {
		if !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("it should have been refused, and says %v", err)
		}
		return m.refused()
	}
	if err != nil {
		return err
	}
	m.dirty = false
	if m.draft == "" {
		return m.check("")
	}
	before := m.now
	m.now, m.pending = want, false
	if change == derived {
		got, err := os.ReadFile(m.name())
		if err != nil {
			return err
		}
		rest, ok := strings.CutPrefix(string(got), want.content())
		if !ok || !derivedLine.MatchString(rest) {
			return fmt.Errorf("%w; after it stands %.300q", same("committed", got, []byte(want.content())), rest)
		}
		m.now.log = append(slices.Clone(want.log), rest)
	}
	if change != none && before.there && !m.mine {
		m.versions = append(m.versions, before.content())
	}
	m.mine = m.file != nil && (m.mine || change != none)
	if err := m.check(m.now.content()); err != nil || change == none {
		return err
	}
	return m.checkReject(false)
}

// derivedLine is the line of a change that its writer did not describe.
var derivedLine = regexp.MustCompile(`^- \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \[[^]\n]+\]: [^\n]{1,200}\n$`)

// refused compares what a refusal left: the old version, and the draft.
func (m *entryModel) refused() error {
	if m.file == nil && m.made && !m.now.there && m.draft != "" {
		m.pending = false
		if err := m.gone(); err != nil {
			return err
		}
	}
	if err := m.check(m.now.content()); err != nil {
		return err
	}
	if m.draft == "" {
		return nil
	}
	return m.checkReject(true)
}

// gone waits until the new file is gone that only held what was refused: the
// kernel tells the end of an open after close(2) has returned.
func (m *entryModel) gone() error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if _, err := os.Lstat(m.name()); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		runtime.Gosched()
	}
	return errors.New("a new file stays after its only content was refused")
}

func (m *entryModel) checkReject(want bool) error {
	_, err := os.Lstat(m.name() + ".rej")
	if want == errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("of the .rej stat says %v", err)
	}
	return nil
}
