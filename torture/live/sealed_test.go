package live

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// vocabulary are the words of sealed text: so many as texts have that people
// write. Were each line another word, the index would have more to do with
// them than with the entries.
var vocabulary = func() (all [4096]string) {
	for i := range all {
		all[i] = fmt.Sprintf(" %03x", i)
	}
	return all
}()

// sealed is text that carries its own name, length and checksum, and in each
// line the name again, so that what was torn shows where.
func sealed(r *rand.Rand, id string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(id + " " + strconv.Itoa(i))
		for range 8 {
			b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		}
		b.WriteString("\n")
	}
	return fmt.Sprintf("sealed %s %d %x\n%send of %s\n", id, b.Len(), sha256.Sum256([]byte(b.String())), b.String(), id)
}

// unseal checks the sealed text in b, and returns its name and what stands
// after it.
func unseal(b []byte) (id string, after []byte, err error) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	var size int
	var sum []byte
	if _, err := fmt.Sscanf(string(line), "sealed %s %d %x", &id, &size, &sum); err != nil {
		return "", nil, fmt.Errorf("it begins with %.80q: %w", line, err)
	}
	end := fmt.Sprintf("end of %s\n", id)
	if len(rest) < size+len(end) {
		return id, nil, fmt.Errorf("%s is %d bytes short, and ends with %.80q", id, size+len(end)-len(rest), b[max(0, len(b)-80):])
	}
	text, after := rest[:size], rest[size:]
	if got := sha256.Sum256(text); !bytes.Equal(got[:], sum) {
		return id, nil, fmt.Errorf("%s is torn: %s", id, foreign(id, text))
	}
	if !bytes.HasPrefix(after, []byte(end)) {
		return id, nil, fmt.Errorf("after %s stands %.80q", id, after)
	}
	return id, after[len(end):], nil
}

// foreign is the first line of text that is not of id.
func foreign(id string, text []byte) string {
	n := 0
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, fmt.Appendf(nil, "%s %d ", id, n)) {
			return fmt.Sprintf("line %d is %.80q", n, line)
		}
		n++
	}
	return "its lines are its own"
}

// checkSealed checks content that is sealed text and nothing else.
func checkSealed(b []byte) error {
	id, after, err := unseal(b)
	if err == nil && len(after) > 0 {
		err = fmt.Errorf("%s is followed by %.80q", id, after)
	}
	return err
}
