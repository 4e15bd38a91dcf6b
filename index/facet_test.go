package index

import (
	"slices"
	"strings"
	"testing"
)

func TestValuesBecomeNamesOfFiles(t *testing.T) {
	for value, want := range map[string]string{
		"security": "security", "a/b": "a%2Fb", ".hidden": "%2Ehidden", "..": "%2E.", "": "%", "50%": "50%25",
		"a\nb": "a%0Ab", "x\u202ey": "x%E2%80%AEy", "ü b": "ü b", "\xff": "%FF",
	} {
		if got := Escape(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	long := strings.Repeat("ü", 200)
	if a, b := Escape(long), Escape(long+"x"); len(a) > maxName || a == b {
		t.Errorf("%d bytes, %q and %q", len(a), a, b)
	}
}

func TestNamesOfLinksAreUnique(t *testing.T) {
	const e = "20260221T143022-x.md"
	paths := []string{"a/" + e, "a/b/" + e, "a__b/" + e, "a_/_b/" + e, "a/b__c/" + e, "a__b/c/" + e, "a_%5Fb/" + e,
		"a/" + strings.Repeat("s", 128) + "/20260221T143022-" + strings.Repeat("l", 230) + ".md",
		"a/" + strings.Repeat("s", 128) + "/20260221T143022-" + strings.Repeat("l", 229) + ".md"}
	var seen []string
	for _, p := range paths {
		name := LinkName(p)
		if slices.Contains(seen, name) || len(name) > maxName || strings.Contains(name, "/") || !strings.HasSuffix(name, ".md") {
			t.Errorf("%s: %q", p, name)
		}
		seen = append(seen, name)
	}
}

func TestMembersAreTheEntriesUnderAValue(t *testing.T) {
	b := corpus(t)
	for _, c := range []struct {
		kind  Kind
		value string
		want  []string
	}{
		{ByTag, "security", []string{auth, next}},
		{ByTag, "a%2Fb", []string{auth}},
		{ByType, "decision", []string{sql2}},
		{ByAgent, "bob", []string{again, next}},
		{BySession, "s1", []string{again, next}},
		{ByBacklinks, LinkName(auth), []string{again, next}},
		{BySuperseded, "yes", []string{auth}},
		{BySuperseded, "no", []string{sql2, again, next}},
		{ByTag, "none", nil},
	} {
		var got []string
		after := ""
		for { // in pages of one
			page, err := b.Members(ctx, c.kind, c.value, after, 1)
			b.ok(err)
			if len(page) == 0 {
				break
			}
			m, ok, err := b.Member(ctx, c.kind, c.value, page[0].Link)
			if err != nil || !ok || m != page[0] {
				t.Errorf("%v %v %v", m, ok, err)
			}
			got, after = append(got, page[0].Path), page[0].Link
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v %s: %q, want %q", c.kind, c.value, got, c.want)
		}
	}
	tags, err := b.Values(ctx, ByTag, "", 10)
	if b.ok(err); !slices.Equal(tags, []string{"a%2Fb", "perf", "security"}) {
		t.Errorf("%q", tags)
	}
	tags, err = b.Values(ctx, ByTag, "a%2Fb", 1)
	if b.ok(err); !slices.Equal(tags, []string{"perf"}) {
		t.Errorf("%q", tags)
	}
}
