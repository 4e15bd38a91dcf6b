package codec

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// rejMark opens every .rej file; by it RejDraft knows one.
const rejMark = "# ctxfs refused this draft"

// RejFile returns what stands beside an entry after its draft was refused, as
// patch(1) leaves .rej files: comment lines, each beginning "# ", that say
// what is wrong, in which line, and how to mend it; an empty line; the draft
// byte for byte.
func RejFile(r *Refusal, draft []byte) []byte {
	notes := rejNotes(r)
	if r.Line > 0 {
		// The comment lines and the empty one push the draft down.
		inFile := r.Line + len(notes) + 1
		notes[1] += fmt.Sprintf(" (line %d of the draft, line %d of this file)", r.Line, inFile)
	}
	var b bytes.Buffer
	for _, n := range notes {
		b.WriteString(strings.TrimRight(n, " ") + "\n")
	}
	b.WriteByte('\n')
	b.Write(draft)
	return b.Bytes()
}

func rejNotes(r *Refusal) []string {
	of, to := "", "the entry"
	if r.Path != "" {
		of, to = " of "+oneLine(r.Path), oneLine(r.Path)
	}
	wrong := "# wrong: "
	if r.Field != "" {
		wrong += oneLine(r.Field) + ": "
	}
	notes := []string{
		fmt.Sprintf("%s%s: %s", rejMark, of, unix.ErrnoName(r.Errno)),
		wrong + oneLine(r.Reason),
	}
	if r.Fix != "" {
		notes = append(notes, "# to mend: "+oneLine(r.Fix))
	}
	return append(notes, "# The draft follows below the empty line. Write it, mended, without these lines,",
		"# to "+to+"; this file goes away then.")
}

// RejDraft returns the draft in a file that [RejFile] made; ok is false for
// anything else.
func RejDraft(rej []byte) (draft []byte, ok bool) {
	if !bytes.HasPrefix(rej, []byte(rejMark)) {
		return nil, false
	}
	for len(rej) > 0 {
		line, rest, found := bytes.Cut(rej, []byte("\n"))
		if !found {
			return nil, false
		}
		if len(line) == 0 {
			return rest, true
		}
		if line[0] != '#' {
			return nil, false
		}
		rej = rest
	}
	return nil, false
}
