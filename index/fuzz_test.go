package index

import (
	"errors"
	"testing"
	"time"
)

// Whatever is asked, the answer is entries or an explanation.
func FuzzQuery(f *testing.F) {
	for _, words := range []string{`token`, `"nested loop" -auth lo*`, `AND OR NOT NEAR(a b, 3)`, `{head} : x^2 + "y"*`, `" " *`, "-a b*c \x00", "日本 \u0301 ſ"} {
		f.Add(words, "", "alice", "a/b", "", "", false, int64(0))
	}
	for _, re := range []string{`n[a-z]+d lo{2}p`, `(?i)ÜBER|\Qx(\E`, `\A.*\z`, `[^\n]`, `(a|b*)*c`, "\xff", `\pL{3,}`} {
		f.Add("", re, "", "", "s1", "../x.md", true, int64(1<<40))
	}
	b := newBench(f)
	b.save(at(1, "auth"), "tags: [security, \"a/b\"]\n", "# Token check\n\nA nested loop over the auth table. Überlauf 日本語")
	b.settled()
	f.Fuzz(func(t *testing.T, words, re, agent, tag, session, link string, fold bool, when int64) {
		q := Query{Words: words, Regex: re, Agent: agent, Session: session, Tags: []string{tag}, LinksTo: link, IgnoreCase: fold}
		if when != 0 {
			q.Since, q.Until = time.Unix(-when, 0), time.Unix(when, 0)
		}
		if fold {
			q.Superseded = OnlySuperseded
		}
		_, err := b.Search(ctx, q)
		if bad := (*QueryError)(nil); err != nil && !errors.As(err, &bad) {
			t.Errorf("%+v: %v", q, err)
		}
	})
}
