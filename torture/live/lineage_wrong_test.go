package live

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// saves are an entry after each of four saves, the last of which appended.
func saves() (all, acked []string) {
	r := rand.New(rand.NewPCG(1, 2))
	log := "\n## Changelog\n\n"
	for i, text := range []string{"save w00r0-1", "tags +w01r0-1", "save w00r0-2"} {
		id := text[len(text)-len("w00r0-1"):]
		log += fmt.Sprintf("- 2026-02-22T10:00:0%dZ [%s]: %s\n", i, id[:len("w00r0")], text)
		all, acked = append(all, fmt.Sprintf(front, id, sealed(r, id, 500))+log), append(acked, id)
	}
	noted := strings.Replace(all[2], "\n## ", "note w01r0-2\n\n## ", 1) + "- 2026-02-22T10:00:03Z [w01r0]: text +1 line\n"
	return append(all, noted), append(acked, "w01r0-2")
}

func TestTheCheckOfAnEntrySeesWhatIsWrong(t *testing.T) {
	replace := func(n int, old, new string) func([]string, *done) []string {
		return func(all []string, _ *done) []string {
			all[n] = strings.Replace(all[n], old, new, 1)
			return all
		}
	}
	const path = "hot/20260222T100000-x.md"
	for name, c := range map[string]struct {
		spoil func(all []string, d *done) []string
		want  string
	}{
		"nothing":        {replace(0, "", ""), ""},
		"a lost version": {func(all []string, _ *done) []string { return append(all[:1:1], all[2:]...) }, "version 2 of 2: w00r0-2 added to the changelog"},
		"a lost entry":   {func(all []string, _ *done) []string { return all[:3] }, "w01r0-2 was acknowledged, and is there 0 times"},
		"a save twice": {func(all []string, _ *done) []string {
			return append(all, all[3]+"- 2026-02-22T10:00:05Z [w01r0]: again\n")
		}, "w01r0-2 was acknowledged, and is there 2 times"},
		"a save of nobody":   {func(all []string, d *done) []string { d.Acked[path] = d.Acked[path][1:]; return all }, "nobody wrote map[w00r0-1:1]"},
		"a torn text":        {replace(1, "w01r0-1 1 ", "w00r0-2 1 "), "version 2 of 3: w01r0-1 is torn"},
		"a short text":       {replace(1, "end of w01r0-1\n", ""), "version 2 of 3: "},
		"another's tags":     {replace(1, "[w01r0-1]", "[w00r0-1]"), "version 2 of 3: the frontmatter of w01r0-1"},
		"a lost line":        {replace(2, "- 2026-02-22T10:00:00Z [w00r0]: save w00r0-1\n", ""), "version 3 of 3: the changelog of w00r0-2 does not go on"},
		"an edited line":     {replace(3, "save w00r0-1", "save w00r0-7"), "the changelog of w01r0-2 does not go on"},
		"another's line":     {replace(3, "[w01r0]: text", "[w00r0]: text"), "w01r0-2 added to the changelog"},
		"another save's":     {replace(3, "text +1 line", "save w00r0-2"), "w01r0-2 added the line of another save"},
		"an empty changelog": {func(all []string, _ *done) []string { return []string{strings.SplitAfter(all[0], "Changelog\n\n")[0]} }, "the changelog is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			all, acked := saves()
			d := done{Acked: map[string][]string{path: acked}}
			all = c.spoil(all, &d)
			dir := t.TempDir()
			for i, text := range all {
				at := filepath.Join(dir, ".ctxfs/versions", path, strconv.Itoa(i+1))
				if i == len(all)-1 {
					at = filepath.Join(dir, path)
				}
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.entry(dir, path); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v is said, and not %q", err, c.want)
			}
		})
	}
}
