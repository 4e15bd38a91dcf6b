package variables

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// encoding loads the vocabulary when it is first needed: it takes a moment,
// and some 30 MB that most daemons never use.
var encoding = sync.OnceValues(func() (tokenizer.Codec, error) {
	return tokenizer.Get(tokenizer.Cl100kBase)
})

// CountTokens returns how many tokens of cl100k_base text has.
func CountTokens(text string) (int, error) {
	enc, err := encoding()
	if err != nil {
		return 0, fmt.Errorf("load the tokenizer: %w", err)
	}
	n, err := enc.Count(text)
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return n, nil
}

// tokenBytes is the most bytes a token stands for in ordinary text. Longer
// texts are cut to that before they are counted.
const tokenBytes = 16

// cutTokens returns the longest beginning of text, ending at a character,
// that has at most limit tokens.
func cutTokens(text string, limit int) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > limit*tokenBytes {
		text = cutBytes(text, limit*tokenBytes)
	}
	var failed error
	fits := func(s string) bool {
		n, err := CountTokens(s)
		if err != nil {
			failed = err
		}
		return err == nil && n <= limit
	}
	if fits(text) || failed != nil {
		return text, failed
	}
	// More bytes may now and then be fewer tokens, so what is found is
	// counted once more.
	end := sort.Search(len(text), func(n int) bool { return !fits(cutBytes(text, n)) })
	for end > 0 && !fits(cutBytes(text, end)) && failed == nil {
		end--
	}
	return strings.TrimSpace(cutBytes(text, end)), failed
}

// cutBytes returns at most n bytes of text, whole characters.
func cutBytes(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// fit joins the lines that say most into at most limit tokens, in their
// order.
func fit(lines []outlined, limit int) (string, error) {
	byWeight := make([]int, len(lines))
	for i := range byWeight {
		byWeight[i] = i
	}
	sort.SliceStable(byWeight, func(a, b int) bool { return lines[byWeight[a]].weight > lines[byWeight[b]].weight })
	// Tokens of lines add up to no less than those of the whole, as none
	// goes across a line's end but for its newline, which is counted.
	taken := make([]bool, len(lines))
	left := limit
	for _, i := range byWeight {
		n, err := CountTokens(lines[i].text + "\n")
		if err != nil {
			return "", err
		}
		if n > left && left == limit {
			cut, err := cutTokens(lines[i].text, limit)
			return cut, err
		}
		if n > left {
			continue
		}
		taken[i], left = true, left-n
	}
	var b strings.Builder
	for i, l := range lines {
		if taken[i] {
			b.WriteString(l.text + "\n")
		}
	}
	return cutTokens(b.String(), limit)
}
