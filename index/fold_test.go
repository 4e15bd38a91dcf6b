package index

import (
	"strings"
	"testing"
)

func foldAll(s string) string {
	var all []string
	words([]byte(s), func(w word) bool { all = append(all, w.text); return true })
	return strings.Join(all, " ")
}

func TestWordsAreFolded(t *testing.T) {
	for text, want := range map[string]string{
		"Hello, World!":       "hello world",
		"foo_bar-baz.qux":     "foo bar baz qux",
		"Überläufe É e\u0301": "uberlaufe e e",
		"ﬁne Ⅷ ½":             "fine viii 12",
		"日本 x語":               "日 本 x 語",
		"ΣΊΣΥΦΟΣ σίσυφος":     "σισυφοσ σισυφοσ",
		"K\u212a ſs":          "kk ss",
		"a\xffb \x00c":        "a b c",
		"":                    "",
	} {
		if got := foldAll(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What is part of a text must be part of what the text is folded to: without
// that, expressions would miss entries.
func FuzzPartsOfTextsAreFoldedAlike(f *testing.F) {
	f.Add("The auth token", 4, 9)
	f.Add("日本語の検索 Überlauf", 3, 20)
	f.Add("e\u0301\u0327x½", 0, 3)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		text = strings.ToValidUTF8(text, "?")
		runes := []rune(text)
		if from < 0 || to > len(runes) || from > to || len(runes) > 100 {
			return
		}
		all := map[string]bool{}
		words([]byte(text), func(w word) bool { all[w.text] = true; return true })
		words([]byte(string(runes[from:to])), func(w word) bool {
			if w.cut {
				return true
			}
			for have := range all {
				whole := have == w.text
				if w.begins && w.ends && whole || w.begins && !w.ends && strings.HasPrefix(have, w.text) ||
					!w.begins && w.ends && strings.HasSuffix(have, w.text) || !w.begins && !w.ends && strings.Contains(have, w.text) {
					return true
				}
			}
			t.Errorf("%q of %q: no word for %+v", string(runes[from:to]), text, w)
			return true
		})
	})
}
