package codec

import "bytes"

// span is a range of bytes, [from, to).
type span struct{ from, to int }

// fence is a line that may open or close a code block (CommonMark, Fenced
// code blocks): up to three blanks, then at least three ` or ~.
type fence struct {
	at            span // with its line end
	char          byte
	n             int // of char
	opens, closes bool
}

// nextLine returns the end of the line that begins at from, with its line end.
func nextLine(b []byte, from int) int {
	if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(b)
}

// trimLine returns a line without its end and the blanks before it.
func trimLine(line []byte) []byte { return bytes.TrimRight(line, " \t\r\n") }

// parseFence reads the line at, ok false if it is no fence.
func parseFence(b []byte, at span) (f fence, ok bool) {
	line := trimLine(b[at.from:at.to])
	text := bytes.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || len(text) < 3 || text[0] != '`' && text[0] != '~' {
		return f, false
	}
	f = fence{at: at, char: text[0], n: len(text) - len(bytes.TrimLeft(text, string(text[:1])))}
	info := text[f.n:]
	f.closes = len(info) == 0
	f.opens = f.char == '~' || bytes.IndexByte(info, '`') < 0
	return f, f.n >= 3
}

// fences returns the code blocks of b from offset body on, each with the
// lines that open and close it. A fence that nothing closes is none.
func fences(b []byte, body int) []span {
	marks := fenceLines(b, body)
	closable := closedLater(marks)
	var all []span
	for i := 0; i < len(marks); i++ {
		if !marks[i].opens || !closable[i] {
			continue
		}
		open := marks[i]
		for i++; !closesFence(open, marks[i]); i++ {
		}
		all = append(all, span{open.at.from, marks[i].at.to})
	}
	return all
}

func closesFence(open, f fence) bool {
	return f.closes && f.char == open.char && f.n >= open.n
}

func fenceLines(b []byte, from int) (marks []fence) {
	for from < len(b) {
		to := nextLine(b, from)
		if f, ok := parseFence(b, span{from, to}); ok {
			marks = append(marks, f)
		}
		from = to
	}
	return marks
}

// closedLater says of each mark whether a later one would close it. Knowing
// that beforehand keeps a file of many unclosed fences linear.
func closedLater(marks []fence) []bool {
	longest := map[byte]int{}
	closable := make([]bool, len(marks))
	for i := len(marks) - 1; i >= 0; i-- {
		f := marks[i]
		closable[i] = longest[f.char] >= f.n
		if f.closes {
			longest[f.char] = max(longest[f.char], f.n)
		}
	}
	return closable
}

// unclosedFence returns the line that ends the code block in which b, from
// offset body on, ends for a reader that lets an unclosed fence run to the
// end of the file, as CommonMark does; nil if it ends in none.
func unclosedFence(b []byte, body int) []byte {
	var open *fence
	for _, f := range fenceLines(b, body) {
		switch {
		case open == nil && f.opens:
			open = &f
		case open != nil && closesFence(*open, f):
			open = nil
		}
	}
	if open == nil {
		return nil
	}
	return bytes.Repeat([]byte{open.char}, open.n)
}

// headingLevel returns how many # a heading line begins with, 0 for any
// other line.
func headingLevel(line []byte) int {
	text := trimLine(line)
	n := len(text) - len(bytes.TrimLeft(text, "#"))
	if n > 6 || n < len(text) && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return n
}

// inSpans reports whether offset at lies in one of spans, which are in order,
// and in which; it looks from spans[*i] on, so that a walk in order is cheap.
func inSpans(spans []span, at int, i *int) (span, bool) {
	for *i < len(spans) && spans[*i].to <= at {
		*i++
	}
	if *i < len(spans) && spans[*i].from <= at {
		return spans[*i], true
	}
	return span{}, false
}
