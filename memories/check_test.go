package memories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/room"
	"ctxfs/room/roomtest"
)

const storedLine = `{"text":"a","id":"1","timestamp":"2026-02-21T14:30:22.000Z","context":{"activeContext":"now"}}` + "\n"

func TestCheckOfSoundMemoriesIsSilent(t *testing.T) {
	for prefix, own := range map[string]bool{"memories/": false, "": true} {
		store, _ := roomtest.Store(t, map[string]string{
			prefix + "m1/context.md":                       "now \xff",
			prefix + "m1/context.json":                     `{"activeContext": "now \ufffd", "more": 1}`,
			prefix + "m1/entries.jsonl":                    storedLine + "\n" + storedLine,
			prefix + "m1/notes.txt":                        "x",
			".ctxfs/log/outbox/m1/0000000000000001.jsonl":  storedLine,
			".ctxfs/log/outbox/m1/00000000000000ff.jsonl":  storedLine + storedLine,
			".ctxfs/deliveries/m1/cursor":                  `{"offset":0,"holder":"x"}`,
			prefix + "never-put/entries.jsonl":             storedLine,
			prefix + "without-document/context.json":       "x",
			prefix + "without-document/context.md.rej.bak": "x",
		})
		roomtest.Problems(t, func(report func(room.Problem)) error { return CheckStore(t.Context(), store, own, report) })
	}
}

func TestCheckFindsDamageOfMemories(t *testing.T) {
	dead := `{"time":"2026-02-21T14:30:22.000Z","key":"1","status":422,"reason":"too long","line":"{}"}` + "\n"
	store, dir := roomtest.Store(t, map[string]string{
		"memories/.odd/x":                             "x",
		"memories/m1/context.md":                      "now",
		"memories/m1/context.json":                    `{"activeContext":"then"}`,
		"memories/m1/context.json.tmp":                snapshotText("now"),
		"memories/m1/context.md.rej":                  "# ctxfs refused this draft of memories/m1/context.md: EINVAL\n\nx",
		"memories/m1/entries.jsonl":                   storedLine + `{"id":"2"}` + "\n" + strings.Replace(storedLine, "activeContext", "active", 1) + storedLine[:20],
		"memories/m2/context.md":                      "text",
		"memories/m3/context.md":                      "text",
		"memories/m3/context.json":                    "text",
		"memories/m3/dir/x":                           "x",
		".ctxfs/log/outbox/m1/0000000000000001.jsonl": "x\n",
		".ctxfs/log/outbox/m1/dead-letters":           dead + dead + "x\n" + dead[:20],
		".ctxfs/log/outbox/m1/odd":                    "x",
		".ctxfs/log/outbox/odd":                       "x",
		".ctxfs/deliveries/m1/cursor":                 `{"offset":9999}`,
		".ctxfs/deliveries/m2/cursor":                 `{"offset":-1}`,
		".ctxfs/deliveries/m3/cursor":                 `{"offset`,
		".ctxfs/deliveries/m3/odd":                    "x",
	})
	all := roomtest.Problems(t, func(report func(room.Problem)) error { return CheckStore(t.Context(), store, false, report) },
		"memories/m1/context.json:0: warning: : it says something else than context.md, and entries carry what it says",
		"memories/m1/context.json.tmp:0: leftover: : a write was interrupted",
		"memories/m2/context.json:0: warning: : it is missing, and entries would carry no context",
		`memories/m3/context.json:0: problem: : it is no JSON object with a string "activeContext"`,
		"memories/.odd:0: warning: : not shown in the mount: a directory with this name or at this depth",
		"memories/m1/context.md.rej:0: warning: : a refused draft waits here",
		"memories/m1/entries.jsonl:2: problem: : it is no entry: no line of entries.jsonl: id or context is missing",
		`memories/m1/entries.jsonl:3: problem: : it is no entry: its "context" is no object with a string "activeContext"`,
		"memories/m1/entries.jsonl:4: leftover: : the last line has no end",
		"memories/m3/dir:0: warning: : not shown in the mount: a directory with this name or at this depth",
		".ctxfs/log/outbox/m1/0000000000000001.jsonl:1: problem: : it is no entry: invalid character 'x' looking for beginning of value",
		".ctxfs/log/outbox/m1/dead-letters:3: problem: : it is no refused entry",
		".ctxfs/log/outbox/m1/dead-letters:4: leftover: : the last line has no end",
		".ctxfs/log/outbox/m1/dead-letters:0: warning: : 2 entries were refused by the backend, the last because too long",
		".ctxfs/log/outbox/m1/odd:0: warning: : it is nothing that waits for a backend",
		".ctxfs/log/outbox/odd:0: warning: : it is nothing that waits for a backend",
		".ctxfs/deliveries/m1/cursor:0: problem: : it says 9999, and there are 214 bytes of entries",
		".ctxfs/deliveries/m2/cursor:0: problem: : it says -1, which is no place in entries.jsonl",
		".ctxfs/deliveries/m3/cursor:0: problem: : it says no place in entries.jsonl: unexpected end of JSON input",
		".ctxfs/deliveries/m3/odd:0: warning: : it is nothing that waits for a backend")
	if did := roomtest.Mend(t, all); len(did) != 4 || !slices.Contains(did, "memories/m2/context.json: wrote it anew from context.md") {
		t.Errorf("mended: %q", did)
	}
	for file, want := range map[string]string{"m1": "now", "m2": "text", "m3": "text"} {
		text, err := os.ReadFile(filepath.Join(dir, "memories", file, snapshotFile))
		if err != nil || string(text) != snapshotText(want) {
			t.Errorf("the snapshot of %s is %s, %v", file, text, err)
		}
	}
}

func snapshotText(content string) string { return string(snapshotOf(content)) }
