package variables

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"ctxfs/backing"
)

const (
	// outlineRead is how much of a content the built-in summary looks at
	// from its beginning, in bytes, and tailRead from its end.
	outlineRead = 8 << 20
	tailRead    = 64 << 10
	// outlineLine is how many characters of a line it shows.
	outlineLine = 200
	// outlineLines is how many lines it considers.
	outlineLines = 2000
)

// outlined is one line that a summary may have. Heavier ones come in first.
type outlined struct {
	text   string
	weight int
}

// outline makes the lines of the built-in summary, in the order in which they
// are shown.
func outline(t Type, c backing.Content) ([]outlined, error) {
	switch {
	case c.Size() == 0:
		return []outlined{{"empty " + string(t), 9}}, nil
	case t == JSON:
		return outlineJSON(c)
	case t == Stream:
		return outlineStream(c)
	}
	return outlineText(t, c)
}

func head(c backing.Content) *io.SectionReader {
	return io.NewSectionReader(c, 0, min(c.Size(), outlineRead))
}

// outlineText shows headings, and the first sentence below each.
func outlineText(t Type, c backing.Content) ([]outlined, error) {
	r := bufio.NewReaderSize(head(c), 64<<10)
	var all []outlined
	count, wanting, depth, binary := 0, true, 0, false
	for len(all) < outlineLines {
		line, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if line == "" && err != nil {
			break
		}
		count++
		binary = binary || strings.IndexByte(line, 0) >= 0
		line = strings.TrimSpace(line)
		if d := headingDepth(line); d > 0 {
			all = append(all, outlined{shown(line), 8 - d})
			wanting, depth = true, d
		} else if wanting && worthSaying(line) {
			all = append(all, outlined{shown(firstSentence(line)), 6 - depth})
			wanting = false
		} else if line == "" && depth == 0 {
			wanting = true // the next paragraph of a text without headings
			depth = 0
		}
		if depth == 0 && len(all) > 1 {
			all[len(all)-1].weight = min(all[len(all)-1].weight, 4)
		}
	}
	if binary {
		return []outlined{{fmt.Sprintf("%s, %d bytes, binary content", t, c.Size()), 9}}, nil
	}
	note := fmt.Sprintf("%s, %d bytes, %d lines", t, c.Size(), count)
	if c.Size() > outlineRead || len(all) == outlineLines {
		note = fmt.Sprintf("%s, %d bytes, of which the beginning was read", t, c.Size())
	}
	return append([]outlined{{note, 9}}, all...), nil
}

// readLine returns the next line with its end; of a very long one the rest is
// left out.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	text := string(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return text, err
}

// headingDepth is 1 to 6 for a markdown heading, else 0.
func headingDepth(line string) int {
	rest := strings.TrimLeft(line, "#")
	if d := len(line) - len(rest); d > 0 && d <= 6 && strings.HasPrefix(rest, " ") {
		return d
	}
	return 0
}

func worthSaying(line string) bool {
	return strings.IndexFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// firstSentence ends at the first full stop, question or exclamation mark
// that a blank follows.
func firstSentence(line string) string {
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？':
			return line[:end]
		case '.', '!', '?':
			if end < len(line) && line[end] == ' ' {
				return line[:end]
			}
		}
	}
	return line
}

// shown makes a line printable and short.
func shown(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	n := 0
	for i := range line {
		if n == outlineLine {
			return line[:i] + "…"
		}
		n++
	}
	return line
}

// outlineStream shows how many lines there are, the first and the last ones.
func outlineStream(c backing.Content) ([]outlined, error) {
	count, err := countLines(c)
	if err != nil {
		return nil, err
	}
	first, err := linesIn(c, 0, min(c.Size(), tailRead))
	if err != nil {
		return nil, err
	}
	all := []outlined{{fmt.Sprintf("stream, %d bytes, %d lines", c.Size(), count), 1000}}
	if c.Size() <= tailRead {
		return append(all, ends(first, nil, 0)...), nil
	}
	last, err := linesIn(c, c.Size()-tailRead, tailRead)
	if err != nil {
		return nil, err
	}
	// The first of them begins somewhere in its line.
	return append(all, ends(first, last[min(1, len(last)):], count)...), nil
}

// ends are lines of the beginning and the end, the outer ones heavier.
func ends(first, last []string, count int) []outlined {
	if last == nil {
		half := (len(first) + 1) / 2
		first, last = first[:half], first[half:]
	}
	const most = 100
	first = first[:min(most, len(first))]
	last = last[max(0, len(last)-most):]
	var all []outlined
	for i, l := range first {
		all = append(all, outlined{shown(l), most - i})
	}
	if count > len(first)+len(last) {
		all = append(all, outlined{"…", most + 1})
	}
	for i, l := range last {
		all = append(all, outlined{shown(l), most - len(last) + i + 1})
	}
	return all
}

func linesIn(c backing.Content, off, n int64) ([]string, error) {
	text, err := io.ReadAll(io.NewSectionReader(c, off, n))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}

func countLines(c backing.Content) (int, error) {
	buf := make([]byte, 256<<10)
	count, last := 0, byte('\n')
	for off := int64(0); off < c.Size(); {
		n, err := c.ReadAt(buf[:min(int64(len(buf)), c.Size()-off)], off)
		if n == 0 && err != nil {
			return 0, err
		}
		count += bytes.Count(buf[:n], []byte("\n"))
		last = buf[n-1]
		off += int64(n)
	}
	if last != '\n' {
		count++
	}
	return count, nil
}
