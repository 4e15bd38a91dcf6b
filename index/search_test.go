package index

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// corpus is a store with a little of everything.
func corpus(t *testing.T) *bench {
	b := newBench(t)
	b.save(at(1, "auth"), "tags: [security, \"a/b\"]\n", "# Token check\n\nThe Auth token is never checked: verifyToken returns early.")
	b.save(at(2, "sql"), "tags: [perf]\ntype: decision\n", "# Nested loop\n\nA nested loop over the auth table. Überlauf naïve.")
	b.save("bob/s1/20260222T100000-next.md", "tags: [security]\nlinks: [../../"+at(1, "auth")+"]\n", "Loop nested the other way. 日本語の検索")
	b.save("bob/20260223T100000-again.md", "sessionId: s1\ntags: []\nsupersedes: ["+at(1, "auth")+"]\n", "Replaced. foo_bar buffer_overflow(x)")
	return b
}

const (
	auth  = "alice/20260221T143001-auth.md"
	sql2  = "alice/20260221T143002-sql.md"
	next  = "bob/s1/20260222T100000-next.md"
	again = "bob/20260223T100000-again.md"
)

func TestWordsPhrasesAndPrefixesFind(t *testing.T) {
	b := corpus(t)
	for words, want := range map[string][]string{
		"replaced":                          {again},
		"token nested":                      {},
		"AUTH table":                        {sql2},
		`"nested loop"`:                     {sql2},
		`"loop nested"`:                     {next},
		"verif*":                            {auth},
		`"nested loo"*`:                     {sql2},
		"uberlauf":                          {sql2},
		"NAÏVE":                             {sql2},
		"検索":                                {next},
		"語日":                                {},
		"foo_bar":                           {again},
		"auth -table -replaced":             {auth},
		`security -"loop nested" -replaced`: {auth},
		"' OR 1=1; DROP loop nested other":  nil,
		"head:replaced":                     {},
	} {
		if want == nil {
			continue
		}
		b.wants(Query{Words: words}, want...)
	}
}

func TestHitsInTitlesAndTagsComeFirst(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "a"), "tags: []\n", "# Other\n\n"+strings.Repeat("some text ", 40)+"pool")
	b.save(at(2, "b"), "tags: []\n", "# The pool\n\n"+strings.Repeat("some text ", 40))
	b.save(at(3, "c"), "tags: []\n", "# Third\n\n"+strings.Repeat("some text ", 80)+"pool")
	b.wants(Query{Words: "pool"}, at(2, "b"), at(1, "a"), at(3, "c"))
}

func TestFiltersNarrowDown(t *testing.T) {
	b := corpus(t)
	day := func(d int) time.Time { return time.Date(2026, 2, d, 0, 0, 0, 0, time.UTC) }
	b.wants(Query{}, again, next, sql2, auth)
	b.wants(Query{Limit: 2}, again, next)
	b.wants(Query{Agent: "alice"}, sql2, auth)
	b.wants(Query{Session: "s1"}, again, next)
	b.wants(Query{Type: "decision"}, sql2)
	b.wants(Query{Tags: []string{"security"}}, next, auth)
	b.wants(Query{Tags: []string{"security", "a/b"}}, auth)
	b.wants(Query{Since: day(22)}, again, next)
	b.wants(Query{Since: day(22), Until: day(23)}, next)
	b.wants(Query{LinksTo: auth}, again, next)
	b.wants(Query{Superseded: OnlySuperseded}, auth)
	b.wants(Query{Superseded: NoSuperseded}, again, next, sql2)
	b.wants(Query{Words: "loop", Agent: "bob"}, next)
	b.wants(Query{Regex: "[Ll]oop", Agent: "bob"}, next)
	b.wants(Query{Agent: "nobody"})
}

func TestExpressionsFindWhatTheyMatchAndNothingElse(t *testing.T) {
	b := corpus(t)
	for re, want := range map[string][]string{
		"verify[A-Z]oken":      {auth},
		"ifyTok":               {auth},
		"(?i)IFYTOK":           {auth},
		"IFYTOK":               {},
		"ffer_overfl":          {again},
		`_overflow\(.\)$`:      {again},
		"^A nested":            {sql2},
		"nested loop|Replaced": {again, sql2},
		"naïve":                {sql2},
		"naive":                {},
		"語の検":                  {next},
		"^type: decision$":     {sql2},
		`\n`:                   {},
		"check\n":              {},
		"l[o]{2}p":             {sql2},
		"x*":                   {again, next, sql2, auth},
		"[tT]oken is":          {auth},
		"(never|always) check": {auth},
		"(nev)+er":             {auth},
		`\Qoverflow(x)\E`:      {again},
	} {
		b.wants(Query{Regex: re}, want...)
	}
	b.wants(Query{Regex: "IFYTOK", IgnoreCase: true}, auth)
}

func TestHostileQueriesAreExplained(t *testing.T) {
	b := corpus(t)
	b.settled()
	for _, q := range []Query{
		{Words: `"open`}, {Words: "--"}, {Words: "***"}, {Words: "-only"}, {Words: "\xff"},
		{Words: strings.Repeat("a ", 70)}, {Words: strings.Repeat("a", 5000)},
		{Regex: "("}, {Regex: "a{1001}"}, {Regex: `\1`}, {Regex: "(?=x)"}, {Regex: strings.Repeat("a", 5000)},
		{Words: "a", Regex: "a"},
	} {
		_, err := b.Search(ctx, q)
		if bad := (*QueryError)(nil); !errors.As(err, &bad) || bad.Reason == "" || bad.Fix == "" {
			t.Errorf("%.40q %.40q: %v", q.Words, q.Regex, err)
		}
	}
	for _, words := range []string{`AND`, `NEAR(a b)`, `a^2`, `{head} : x`, `x"y"z`, "a*b*c", "'", `\`} {
		if _, err := b.Search(ctx, Query{Words: words + " loop"}); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
}

func TestSnippetsMarkWhatWasFound(t *testing.T) {
	b := corpus(t)
	b.settled()
	marked := func(q Query) string {
		hits, err := b.Search(ctx, q)
		b.ok(err)
		var all []string
		for _, h := range hits {
			for _, l := range h.Lines {
				text := l.Text
				for i := len(l.Marks) - 1; i >= 0; i-- {
					m := l.Marks[i]
					text = text[:m[0]] + "<" + text[m[0]:m[1]] + ">" + text[m[1]:]
				}
				all = append(all, text)
			}
		}
		return strings.Join(all, "|")
	}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Words: "uberlauf auth"}, "A nested loop over the <auth> table. <Überlauf> naïve."},
		{Query{Words: `"nested loop"`}, "# <Nested loop>|A <nested loop> over the auth table. Überlauf naïve."},
		{Query{Regex: "l.?op"}, "<Loop> nested the other way. 日本語の検索"},
	} {
		if c.q.Regex != "" {
			c.q.IgnoreCase, c.q.Agent = true, "bob"
		}
		if got := marked(c.q); got != c.want {
			t.Errorf("%+v:\n%s\n%s", c.q, got, c.want)
		}
	}
}

func TestLongLinesAreCutAroundTheMatch(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: []\n", strings.Repeat("ä ", 500)+"needle"+strings.Repeat(" ö", 500))
	b.settled()
	for _, q := range []Query{{Words: "needle"}, {Regex: "nee.le"}} {
		hits, err := b.Search(ctx, q)
		b.ok(err)
		l := hits[0].Lines[0]
		if len(l.Text) > maxLine+10 || l.Text[l.Marks[0][0]:l.Marks[0][1]] != "needle" || !strings.HasPrefix(l.Text, "…") || !strings.HasSuffix(l.Text, "…") {
			t.Errorf("%+v: %+v", q, l)
		}
	}
}

func TestWordsTooLongForTheIndexAreStillMatched(t *testing.T) {
	b := newBench(t)
	b.save(at(1, "x"), "tags: []\n", strings.Repeat("x", 500)+"needle"+strings.Repeat("y", 500))
	b.save(at(2, "y"), "tags: []\n", strings.Repeat("word ", maxText/5)+"\nfarneedle")
	b.wants(Query{Regex: "needle"}, at(2, "y"), at(1, "x"))
}

func TestCommonWordsFindTheNewest(t *testing.T) {
	b := newBench(t)
	b = b.reopen(func() { b.ok(makeMany(b.dir, common+50, "ever present")) })
	b.until("all are in", func() bool { s := b.Status(ctx); return !s.Building && s.Entries == common+50 })
	got := b.find(Query{Words: "ever present", Limit: 3})
	if len(got) != 3 || got[0] != manyPath(common+49) {
		t.Errorf("%q", got)
	}
	if got := b.find(Query{Words: "ever n00007"}); len(got) != 1 || got[0] != manyPath(7) {
		t.Errorf("%q", got)
	}
	if got := b.find(Query{Type: "finding", Limit: -1}); len(got) != common+50 {
		t.Errorf("%d", len(got))
	}
}
