package results

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	scanWindow = 64 << 10 // bytes read at a time
	// MaxDepth is how deep arrays and objects of a result nest.
	MaxDepth = 512
)

// scanner reads JSON (RFC 8259) as it comes, in constant memory: results are
// checked and described without being loaded.
type scanner struct {
	r     io.Reader
	buf   []byte
	pos   int   // of the next byte in buf
	base  int64 // offset of buf[0] in the text
	line  int   // 1-based, of the next byte
	depth int
	ended bool // r has nothing more
	fault error
}

// syntaxError says what is wrong with a text. At its end it may still be
// continued to a right one.
type syntaxError struct {
	line int
	what string
	end  bool
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

func newScanner(r io.Reader) *scanner {
	return &scanner{r: r, buf: make([]byte, 0, scanWindow), line: 1}
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) wrong(format string, args ...any) error {
	return &syntaxError{line: s.line, what: fmt.Sprintf(format, args...)}
}

func (s *scanner) cutOff() error {
	if s.fault != nil {
		return s.fault
	}
	return &syntaxError{line: s.line, what: "the JSON ends too early", end: true}
}

// have makes at least n bytes available, if there are as many.
func (s *scanner) have(n int) bool {
	for len(s.buf)-s.pos < n && !s.ended {
		left := copy(s.buf, s.buf[s.pos:])
		s.base += int64(s.pos)
		s.pos = 0
		got, err := s.r.Read(s.buf[left:cap(s.buf)])
		s.buf = s.buf[:left+got]
		if err != nil {
			s.ended = true
			if !errors.Is(err, io.EOF) {
				s.fault = fmt.Errorf("read a result: %w", err)
			}
		}
	}
	return len(s.buf)-s.pos >= n
}

// token skips white space and returns the byte after it, which stays unread.
func (s *scanner) token() (byte, error) {
	for s.have(1) {
		switch c := s.buf[s.pos]; c {
		case '\n':
			s.line++
			s.pos++
		case ' ', '\t', '\r':
			s.pos++
		default:
			return c, nil
		}
	}
	return 0, s.cutOff()
}

// expect reads c, after white space.
func (s *scanner) expect(c byte, where string) error {
	got, err := s.token()
	if err != nil {
		return err
	}
	if got != c {
		return s.wrong("%q where %q is due, %s", rune(got), rune(c), where)
	}
	s.pos++
	return nil
}

// text is a string of the JSON: how it begins, and what it measures.
type text struct {
	head     []byte // its first bytes, unescaped
	keep     int    // how many of them
	size     int64  // bytes, unescaped
	newlines int
	open     bool // it has bytes after the last newline
}

func (t *text) add(p []byte) {
	t.size += int64(len(p))
	if room := t.keep - len(t.head); room > 0 {
		t.head = append(t.head, p[:min(room, len(p))]...)
	}
	if len(p) > 0 {
		t.open = p[len(p)-1] != '\n'
	}
}

func (t *text) lines() int {
	if t.open {
		return t.newlines + 1
	}
	return t.newlines
}

func (t *text) cut() bool { return t.size > int64(len(t.head)) }

// ends are the bytes at which a run of plain bytes in a string ends.
var ends = func() (set [256]bool) {
	for c := range set {
		set[c] = c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\'
	}
	return set
}()

// string reads a string, whose quote is the next byte, and keeps its first
// bytes.
func (s *scanner) string(keep int) (text, error) {
	t := text{keep: keep}
	s.pos++
	for s.have(1) {
		run := s.buf[s.pos:]
		n := 0
		for n < len(run) && !ends[run[n]] {
			n++
		}
		t.add(run[:n])
		s.pos += n
		if n == len(run) {
			continue
		}
		switch c := run[n]; {
		case c == '"':
			s.pos++
			return t, nil
		case c == '\\':
			if err := s.escape(&t); err != nil {
				return t, err
			}
		case c < ' ':
			return t, s.wrong("a control character in a string; write it as \\n or \\u%04x", c)
		default:
			if err := s.rune(&t); err != nil {
				return t, err
			}
		}
	}
	return t, s.cutOff()
}

func (s *scanner) rune(t *text) error {
	s.have(utf8.UTFMax)
	r, n := utf8.DecodeRune(s.buf[s.pos:])
	if r == utf8.RuneError && n <= 1 {
		if s.ended && !utf8.FullRune(s.buf[s.pos:]) {
			return s.cutOff()
		}
		return s.wrong("a string is not UTF-8")
	}
	t.add(s.buf[s.pos : s.pos+n])
	s.pos += n
	return nil
}
