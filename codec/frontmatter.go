package codec

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// MaxFrontmatter is the most bytes between the two lines "---".
const MaxFrontmatter = 64 << 10

const (
	bom      = "\ufeff"
	startFix = "begin the file with a line `---`, then `type: finding` (or decision, artifact, reference, summary), a line `---`, and the text"
)

// frontmatter says where the frontmatter of some content lies.
type frontmatter struct {
	from, to int    // of the bytes between the two lines "---"
	body     int    // offset of the first byte after the closing line
	eol      string // of the opening line
	lines    int    // lines up to and with the closing one
}

// bounds finds the frontmatter. Where more content may follow (whole is
// false) a frontmatter without an end is open, and no refusal.
func bounds(content []byte, whole bool) (f frontmatter, open bool, r *Refusal) {
	rest := bytes.TrimPrefix(content, []byte(bom))
	switch {
	case !whole && bytes.HasPrefix([]byte(bom), content):
		return f, true, nil
	case bytes.HasPrefix(rest, []byte("---\n")):
		f.eol = "\n"
	case bytes.HasPrefix(rest, []byte("---\r\n")):
		f.eol = "\r\n"
	case !whole && bytes.HasPrefix([]byte("---\r\n"), rest):
		return f, true, nil
	default:
		return f, false, noStart(rest)
	}
	f.from = len(content) - len(rest) + len("---") + len(f.eol)
	return f.close(content, whole)
}

func noStart(content []byte) *Refusal {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	if len(content) == 0 {
		return refuse(1, "", "the entry is empty", startFix)
	}
	return refuse(1, "", fmt.Sprintf("the first line is %s, not `---`: an entry begins with frontmatter",
		quote(string(line[:min(len(line), 4*quotedRunes)]))), startFix)
}

// close finds the closing line of a frontmatter that begins at f.from.
func (f frontmatter) close(content []byte, whole bool) (frontmatter, bool, *Refusal) {
	window := content[f.from:min(len(content), f.from+MaxFrontmatter+len("---\r\n"))]
	for at := 0; ; {
		if n := closingLine(window[at:], whole && f.from+len(window) == len(content)); n > 0 {
			f.to, f.body = f.from+at, f.from+at+n
			f.lines = 2 + bytes.Count(window[:at], []byte("\n"))
			return f, false, nil
		}
		// bytes.Index keeps this cheap for a prefix that grows by single bytes.
		next := bytes.Index(window[at:], []byte("\n---"))
		if next < 0 {
			break
		}
		at += next + 1
	}
	if len(content)-f.from >= MaxFrontmatter+len("---\r\n") {
		return f, false, refuse(1, "", fmt.Sprintf("the frontmatter has no closing line `---` within %d bytes", MaxFrontmatter),
			"end the frontmatter with a line `---`, and move long text below it")
	}
	if whole {
		return f, false, refuse(1, "", "the frontmatter that begins here is not closed",
			"add a line `---` (nothing before or after it) below the last field")
	}
	return f, true, nil
}

// closingLine returns the length of the line "---" that b begins with, 0 if
// there is none. At the end of the content the line needs no line end.
func closingLine(b []byte, atEnd bool) int {
	rest, ok := bytes.CutPrefix(b, []byte("---"))
	switch {
	case !ok:
		return 0
	case bytes.HasPrefix(rest, []byte("\n")):
		return len("---\n")
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return len("---\r\n")
	case atEnd && (len(rest) == 0 || string(rest) == "\r"):
		return len(b)
	}
	return 0
}

// checkText refuses what YAML would read as something else than lines of
// text: bytes that are not UTF-8, control characters, line breaks that only
// YAML knows, and lines that end or begin a YAML document.
func checkText(text []byte) *Refusal {
	if len(text) > MaxFrontmatter {
		return refuse(0, "", fmt.Sprintf("the frontmatter has more than %d bytes", MaxFrontmatter), "move long text below the frontmatter")
	}
	line := 2
	for at := 0; at < len(text); {
		if at == 0 || text[at-1] == '\n' {
			if r := documentMarker(text[at:], line); r != nil {
				return r
			}
		}
		c, size := utf8.DecodeRune(text[at:])
		if r := checkRune(c, size, text[at:], line); r != nil {
			return r
		}
		if c == '\n' {
			line++
		}
		at += size
	}
	return nil
}

func checkRune(c rune, size int, rest []byte, line int) *Refusal {
	switch {
	case c == utf8.RuneError && size == 1:
		return refuse(line, "", fmt.Sprintf("byte 0x%02x is not UTF-8", rest[0]), "write the frontmatter in UTF-8")
	case c == '\t', c == '\n', c == '\r' && len(rest) > 1 && rest[1] == '\n':
		return nil
	case c < ' ', c >= 0x7f && c < 0xa0, c == '\u2028', c == '\u2029', c == '\ufeff':
		return refuse(line, "", fmt.Sprintf("the character U+%04X cannot stand in frontmatter", c), "remove it; lines end with LF or CRLF")
	}
	return nil
}

func documentMarker(line []byte, n int) *Refusal {
	for _, mark := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(mark))
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0) {
			return refuse(n, "", fmt.Sprintf("a line that begins with `%s` stands in the frontmatter", mark),
				"close the frontmatter with a line of three hyphens and nothing else, not even blanks after them")
		}
	}
	return nil
}
