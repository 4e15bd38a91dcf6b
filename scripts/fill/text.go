package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	vocabulary = 50_000 // words, used as often as in a language: a few very, most hardly
	tags       = 300
)

var types = []string{"finding", "decision", "artifact", "reference", "summary"}

// entry is what the frontmatter of one says.
type entry struct {
	agent, session, dir string
	at                  time.Time
	before              string // the name of the one before it in the directory, or ""
}

// text makes contents.
type text struct {
	r     *rand.Rand
	words []string
	word  *rand.Zipf
	tag   *rand.Zipf
}

func newText(seed uint64) *text {
	r := rand.New(rand.NewPCG(seed, 0))
	t := &text{r: r, word: rand.NewZipf(r, 1.1, 4, vocabulary-1), tag: rand.NewZipf(r, 1.2, 4, tags-1)}
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe qi ro su ta ve wi xo zu bre cla dro fli gre pla ste tri")
	for i := range vocabulary {
		var word strings.Builder
		for n := i + len(syllables); n > 0; n /= len(syllables) {
			word.WriteString(syllables[n%len(syllables)])
		}
		t.words = append(t.words, word.String())
	}
	return t
}

// dirSize is that of one more directory: most are small.
func (t *text) dirSize() int {
	u := t.r.Float64()
	return 20 + int(1000*u*u)
}

// of is a complete entry, some 1.6 KB long.
func (t *text) of(e entry) []byte {
	var b strings.Builder
	session := e.session
	if session == "" {
		session = "session-00"
	}
	fmt.Fprintf(&b, "---\nagent: %s\nsessionId: %s\ntimestamp: %s\ntype: %s\n", e.agent, session, e.at.Format(time.RFC3339), types[t.r.IntN(len(types))])
	first, second := t.tag.Uint64(), t.tag.Uint64()
	if first == second {
		second = (second + 1) % tags
	}
	fmt.Fprintf(&b, "tags: [tag%d, tag%d]\n", first, second)
	if e.before != "" && t.r.IntN(10) == 0 {
		fmt.Fprintf(&b, "links: [%s/%s]\n", e.dir, e.before)
	}
	b.WriteString("---\n\n# ")
	t.sentence(&b, 6)
	for paragraphs := 1 + t.r.IntN(5); paragraphs > 0; paragraphs-- {
		b.WriteByte('\n')
		for range 3 + t.r.IntN(5) {
			t.sentence(&b, 5+t.r.IntN(15))
		}
	}
	return []byte(b.String())
}

// sentence is a line of n words.
func (t *text) sentence(b *strings.Builder, n int) {
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.words[t.word.Uint64()])
	}
	b.WriteString(".\n")
}
