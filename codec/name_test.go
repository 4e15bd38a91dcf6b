package codec

import (
	"strings"
	"testing"
	"time"
)

// entryNames says of each name what is wrong with it, "" for nothing.
var entryNames = map[string]string{
	"20260221T143022-auth-vulnerability.md":               "",
	"20260221T143022Z-x.md":                               "",
	"20260221T143022-A.b_c-9.md":                          "",
	"20260221T143022--.md":                                "",
	"20260221T143022-.hidden.md":                          "",
	"20240229T000000-leap.md":                             "",
	"20260221T235959-x.md.md":                             "",
	"20260221T143022-" + strings.Repeat("x", 232) + ".md": "",
	"20260221T143022-" + strings.Repeat("x", 233) + ".md": "has 252 bytes",
	"":                         "does not end in .md",
	".md":                      "timestamp",
	"notes.md":                 "timestamp",
	"20260221T143022-x.MD":     "does not end in .md",
	"20260221T143022-x.txt":    "does not end in .md",
	"20260221T143022.md":       "timestamp",
	"20260221T143022-.md":      "no slug",
	"20260221T143022Z.md":      "timestamp",
	"20260221T143022z-x.md":    "timestamp",
	"20260221T143022ZZ-x.md":   "timestamp",
	"20260221t143022-x.md":     "timestamp",
	"20260221-143022-x.md":     "timestamp",
	"2026-02-21T14:30:22-x.md": "timestamp",
	"20260221T1430-x.md":       "timestamp",
	"20260221T143022.5-x.md":   "timestamp",
	"+0260221T143022-x.md":     "timestamp",
	"20260230T143022-x.md":     "does not exist",
	"20250229T143022-x.md":     "does not exist",
	"20261321T143022-x.md":     "does not exist",
	"20260221T243022-x.md":     "does not exist",
	"20260221T146022-x.md":     "does not exist",
	"20260221T143060-x.md":     "does not exist",
	"20260221T143022-a b.md":   `holds " "`,
	"20260221T143022-ä.md":     `holds "ä"`,
	"20260221T143022-a/b.md":   `holds "/"`,
	"20260221T143022-a:b.md":   `holds ":"`,
	"20260221T143022-a\nb.md":  `holds "\n"`,
	"20260221T143022-a\xff.md": `holds "\xff"`,
	".20260221T143022-x.md":    "timestamp",
}

func TestEntryNames(t *testing.T) {
	for name, wrong := range entryNames {
		err := CheckEntryName(name)
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%q: %v, want %q", name, err, wrong)
		}
	}
}

func TestEditorsOwnFilesAreNoEntries(t *testing.T) {
	for name, want := range map[string]bool{
		"20260221T143022-x.md": true, "notes.md": true, "a.md.md": true,
		".md": false, ".x.md": false, ".#20260221T143022-x.md": false, "#x.md": false, "~x.md": false,
		"": false, "x.md~": false, "x.md.rej": false, "x.MD": false, "md": false, ".x.md.swp": false,
	} {
		if got := IsEntry(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestNameTimeIsUTC(t *testing.T) {
	for _, name := range []string{"20260221T143022-x.md", "20260221T143022Z-x.md"} {
		got, ok := NameTime(name)
		if want := time.Date(2026, 2, 21, 14, 30, 22, 0, time.UTC); !ok || got != want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	if _, ok := NameTime("20260230T143022-x.md"); ok {
		t.Error("30 February has a time")
	}
}

func TestDirectoryNames(t *testing.T) {
	for name, want := range map[string]bool{
		"code-reviewer": true, "a": true, "9": true, "A.b_c:d-e": true, strings.Repeat("x", 128): true,
		"a1b2c3d4-e5f6-7890-abcd-ef1234567890": true, "x.md": true, "vars": true,
		"": false, ".": false, "..": false, ".git": false, "-x": false, "_x": false, ":x": false,
		"a b": false, "a/b": false, "ä": false, "a\n": false, "a\x00": false, "#x": false, "a]": false,
		strings.Repeat("x", 129): false,
	} {
		if err := CheckDirName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLabelsAreCleaned(t *testing.T) {
	for s, want := range map[string]string{
		"code-fixer":                    "code-fixer",
		"  a b  ":                       "a b",
		"a]b[c":                         "ab[c",
		"a\nb\r\tc\x00\x1b\u0085":       "abc",
		"a\u202eb\u2066\u200f\ufeff":    "ab",
		"a\xffb":                        "ab",
		"\n ] ":                         "",
		strings.Repeat("ä", 100):        strings.Repeat("ä", 64),
		"x" + strings.Repeat("ä", 70):   "x" + strings.Repeat("ä", 63),
		strings.Repeat("x", 127) + " y": strings.Repeat("x", 127),
	} {
		if got := CleanLabel(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// links says what each link means in code-reviewer/s1, "" where it is refused.
var links = map[string]string{
	"other/20260221T143022-x.md":    "other/20260221T143022-x.md",
	"other/s2/20260221T143022-x.md": "other/s2/20260221T143022-x.md",
	"20260221T143022-x.md":          "code-reviewer/s1/20260221T143022-x.md",
	"./20260221T143022-x.md":        "code-reviewer/s1/20260221T143022-x.md",
	"../20260221T143022-x.md":       "code-reviewer/20260221T143022-x.md",
	"../../other/x.md":              "other/x.md",
	"../s2/x.md":                    "code-reviewer/s2/x.md",
	"other/../third/x.md":           "third/x.md",
	"./../s2//x.md":                 "code-reviewer/s2/x.md",
	"other/x.md#part":               "other/x.md#part",
	"other/ein Wort.md":             "other/ein Wort.md",
	"..hidden":                      "code-reviewer/s1/..hidden",
	"":                              "",
	"/etc/passwd":                   "",
	"/":                             "",
	"~/x.md":                        "",
	"../../../etc/passwd":           "",
	"other/../../x.md":              "",
	"other/../..":                   "",
	"../..":                         "",
	"../../../..":                   "",
	"https://example.org/x.md":      "",
	"file:///etc/passwd":            "",
	"other/x\n.md":                  "",
	"other/x\x00.md":                "",
	"other/\u202edm.x":              "",
}

func TestLinksStayInTheStore(t *testing.T) {
	for link, want := range links {
		got, err := ResolveLink("code-reviewer/s1", link)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", link, got, err, want)
		}
	}
	if got, err := ResolveLink("code-reviewer", "../other/x.md"); got != "other/x.md" || err != nil {
		t.Errorf("from an agent's directory: %q, %v", got, err)
	}
	if got, err := ResolveLink("code-reviewer", "../../x.md"); err == nil {
		t.Errorf("out of the store: %q", got)
	}
}

func TestTimestamps(t *testing.T) {
	for s, want := range map[string]string{
		"2026-02-21T14:30:22Z": "2026-02-21T14:30:22Z", "2026-02-21T14:30:22.123Z": "2026-02-21T14:30:22.123Z",
		"2026-02-21T14:30:22,5Z": "2026-02-21T14:30:22.5Z", "2026-02-21T14:30:22.123456+00:00": "2026-02-21T14:30:22.123456Z",
		"2026-02-21T15:30:22+01:00": "2026-02-21T14:30:22Z", "2026-02-21T15:30:22+0100": "2026-02-21T14:30:22Z",
		"2026-02-21T13:30:22-01": "2026-02-21T14:30:22Z", "2026-02-21T14:30:22": "2026-02-21T14:30:22Z",
		"2026-02-21T14:30Z": "2026-02-21T14:30:00Z", "20260221T143022Z": "2026-02-21T14:30:22Z", "20260221T143022": "2026-02-21T14:30:22Z",
		"": "", "2026-02-21": "", "14:30:22": "", "yesterday": "", "1771684222": "", "2026-02-21 14:30:22": "",
		"2026-02-30T14:30:22Z": "", "2026-02-21T25:00:00Z": "", "2026-02-21T14:30:22 Z": "", "2026-02-21t14:30:22z": "",
		"2026-02-21T14:30:22Z and more": "", "21.02.2026T14:30": "",
	} {
		got, ok := parseStamp(s)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %v", s, got, ok)
		}
	}
}
