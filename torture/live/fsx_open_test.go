package live

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ownLine is a line of the changelog that the writer puts after m.draft.
func (m *entryModel) ownLine() string {
	m.saves++
	line := fmt.Sprintf("- 2026-02-22T%02d:%02d:%02dZ [me]: own\n", m.saves/3600, m.saves/60%60, m.saves%60)
	_, below, found := section(m.draft)
	switch {
	case !found:
		return "\n\n## Changelog\n\n" + line
	case below == "":
		return "\n" + line
	case !strings.HasSuffix(m.draft, "\n"):
		return "\n" + line
	}
	return line
}

// doOpen is a step through the open file; done is false where it is none.
func (m *entryModel) doOpen(s step) (done bool, err error) {
	switch s.what {
	case "close":
		f := m.file
		m.file = nil
		return true, m.committed(f.Close())
	case "sync":
		return true, m.committed(m.file.Sync())
	case "read":
		got := make([]byte, s.n)
		n, err := m.file.ReadAt(got, int64(s.at%10_000))
		if err != nil && !errors.Is(err, io.EOF) {
			return true, err
		}
		return true, same("read", got[:n], part(m.draft, s.at%10_000, s.n))
	case "stat":
		info, err := m.file.Stat()
		if err == nil && info.Size() != int64(len(m.draft)) {
			err = fmt.Errorf("fstat says %d bytes, want %d", info.Size(), len(m.draft))
		}
		return true, err
	case "write", "retype", "append", "own line", "truncate", "whole":
		return true, m.edit(s)
	}
	return false, nil
}

// edit changes the draft.
func (m *entryModel) edit(s step) error {
	head := heads.FindString(m.draft)
	if head == "" || s.what == "whole" {
		m.put("", 0)
		if err := m.file.Truncate(0); err != nil {
			return err
		}
		text := someEntry(s)
		m.put(text, 0)
		return inPieces(io.NewOffsetWriter(m.file, 0), text, 1+s.at%4)
	}
	at, text := len(m.draft), ""
	switch s.what {
	case "truncate":
		size := cutAt(m.draft, s.at)
		m.put(string(resized([]byte(m.draft), size)), -1)
		return m.file.Truncate(int64(size))
	case "retype":
		at, text = strings.Index(head, "type: ")+len("type: "), someTypes[s.at%len(someTypes)]
	case "append":
		text = someText(s)
	case "own line":
		if m.base.there {
			text = m.ownLine()
		}
	default:
		above, _, _ := section(m.draft)
		if room := len(above) - len(head); room > 0 {
			at = len(head) + s.at%room
			text = strings.Repeat(string(s.filler), min(s.n, len(above)-at))
		}
	}
	m.put(text, at)
	_, err := m.file.WriteAt([]byte(text), int64(at))
	return err
}

// put changes what the draft is: text at a place, or, at -1, all of it.
func (m *entryModel) put(text string, at int) {
	before := m.draft
	switch {
	case at < 0 || text == "" && at == 0:
		m.draft = text
	default:
		m.draft = before[:at] + text + before[min(len(before), at+len(text)):]
	}
	m.dirty = m.dirty || text != "" || m.draft != before
}
