package index

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// matcher finds the lines in which an expression matches.
type matcher struct {
	re   *regexp.Regexp
	need need
	hint []byte // stands in every line that matches
	// each line has to be looked at by itself, since the expression speaks of
	// the beginning or the end of the text.
	each bool
}

// compile returns the expression of q.
func compile(q Query) (matcher, error) {
	if len(q.Regex) > maxQuery {
		return matcher{}, &QueryError{fmt.Sprintf("the expression has %d bytes, %d is the most", len(q.Regex), maxQuery), "shorten it"}
	}
	flags := syntax.Perl &^ syntax.OneLine // ^ and $ are the ends of a line
	prefix := "(?m)"
	if q.IgnoreCase {
		flags |= syntax.FoldCase
		prefix = "(?mi)"
	}
	tree, err := syntax.Parse(q.Regex, flags)
	var re *regexp.Regexp
	if err == nil {
		re, err = regexp.Compile(prefix + "(?:" + q.Regex + ")")
	}
	if err != nil {
		return matcher{}, &QueryError{"the expression cannot be read: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"write it as for rg or Go; \\Q...\\E takes text as it is"}
	}
	m := matcher{re: re, each: ofText(tree), need: needs(tree.Simplify())}
	if h := m.need.hint(); !strings.Contains(h, "\n") {
		m.hint = []byte(h)
	}
	return m, nil
}

// ofText reports whether re speaks of the beginning or the end of the text.
func ofText(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, ofText)
}

// lines returns those of text in which the expression matches, at most
// MaxMatches. Each is matched by itself, so that no match goes beyond it.
func (m matcher) lines(text []byte) []Line {
	var lines []Line
	n, counted, each := 1, 0, m.each
	for at := 0; at < len(text) && len(lines) < MaxMatches; {
		from := m.next(text, at, each)
		if from < 0 {
			break
		}
		start := bytes.LastIndexByte(text[:from], '\n') + 1
		if start == len(text) {
			break // after the last line's end there is no line
		}
		end := len(text)
		if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
			end = from + i
		}
		line := text[start:end]
		if all := m.re.FindAllIndex(line, -1); all != nil {
			var marks [][2]int
			for _, m := range all {
				marks = append(marks, [2]int{m[0], m[1]})
			}
			n += bytes.Count(text[counted:start], []byte("\n"))
			counted = start
			lines = append(lines, lineOf(n, line, apart(marks)))
		} else {
			each = true // what matches beyond lines is looked for no more
		}
		at = end + 1
	}
	return lines
}

// next returns where, from at on, which is the beginning of a line, the first
// line lies that may match; less than 0 where there is none.
func (m matcher) next(text []byte, at int, each bool) int {
	var i int
	switch {
	case len(m.hint) > 0:
		i = bytes.Index(text[at:], m.hint)
	case each:
		return at
	default:
		// On the whole rest, which is fast where nothing matches.
		found := m.re.FindIndex(text[at:])
		if found == nil {
			return -1
		}
		i = found[0]
	}
	if i < 0 {
		return -1
	}
	return at + i
}
