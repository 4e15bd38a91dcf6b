package codec

import (
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Refusal says why something that was written, or a name, is not accepted,
// and how to mend it. Reason and Fix are single lines of printable text.
type Refusal struct {
	Errno  syscall.Errno // what the kernel tells the writer
	Path   string        // of the entry, from the store's root; "" where the codec was not told
	Line   int           // 1-based line of the draft; 0 where none applies
	Field  string        // frontmatter field; "" where none applies
	Reason string        // what is wrong
	Fix    string        // how to mend it
}

// Error returns all of it in one line: "agent/x.md:4: type: reason (fix)".
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Path)
	if r.Line > 0 {
		if r.Path == "" {
			b.WriteString("line ")
		} else {
			b.WriteByte(':')
		}
		b.WriteString(strconv.Itoa(r.Line))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if r.Field != "" {
		b.WriteString(r.Field + ": ")
	}
	b.WriteString(r.Reason)
	if r.Fix != "" {
		b.WriteString(" (" + r.Fix + ")")
	}
	return oneLine(b.String())
}

// Unwrap returns the errno, so that errors.Is(err, syscall.EINVAL) holds.
func (r *Refusal) Unwrap() error { return r.Errno }

// refuse returns a refusal with EINVAL, the errno of everything that is
// wrong with content or a name.
func refuse(line int, field, reason, fix string) *Refusal {
	return &Refusal{Errno: syscall.EINVAL, Line: line, Field: field, Reason: reason, Fix: fix}
}

// quotedRunes is how much of a writer's text a refusal quotes.
const quotedRunes = 60

// quote returns s as one short printable word for a reason or a fix.
func quote(s string) string {
	if utf8.RuneCountInString(s) > quotedRunes {
		return strconv.Quote(firstRunes(s, quotedRunes)) + "…"
	}
	return strconv.Quote(s)
}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
