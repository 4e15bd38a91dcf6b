package variables

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"

	"ctxfs/backing/localdir"
	"ctxfs/room"
	"ctxfs/room/roomtest"
)

func wantProblems(t *testing.T, store *localdir.Store, want ...string) []room.Problem {
	t.Helper()
	return roomtest.Problems(t, func(report func(room.Problem)) error { return CheckStore(t.Context(), store, report) }, want...)
}

var sound = map[string]string{
	"vars/global/a.json":       `{"a": 1}`,
	"vars/global/empty.json":   "",
	"vars/global/text.json":    "no JSON, and said to be text",
	"vars/agent:a/patch.rej":   "--- a\n+++ b\n",
	".ctxfs/vars/global.jsonl": `{"key":"text.json","type":"text"}` + "\n" + `{"key":"gone","gone":true}` + "\n",
}

func TestCheckOfSoundVariablesIsSilent(t *testing.T) {
	store, _ := roomtest.Store(t, sound)
	wantProblems(t, store)
	empty, _ := roomtest.Store(t, nil)
	wantProblems(t, empty)
}

func TestCheckFindsDamageOfVariables(t *testing.T) {
	files := maps.Clone(sound)
	maps.Copy(files, map[string]string{
		"vars/global/bad.json":      "{\"a\":\n 1",
		"vars/global/said":          "{",
		"vars/global/.hidden":       "x",
		"vars/global/dir/x":         "x",
		"vars/global/bad.json.rej":  "# ctxfs refused this draft of vars/global/bad.json: EINVAL\n\nx",
		"vars/nowhere/x":            "x",
		".ctxfs/vars/global.jsonl":  sound[".ctxfs/vars/global.jsonl"] + `{"key":"said","type":"json"}` + "\nnonsense\n" + `{"key":"x","type":"odd"}` + "\n" + `{"key":"half`,
		".ctxfs/vars/nowhere.jsonl": "",
		".ctxfs/vars-spill/m1-1":    "12345",
	})
	store, dir := roomtest.Store(t, files)
	all := wantProblems(t, store,
		"vars/global/bad.json:2: problem: : not JSON: it ends in the middle",
		"vars/global/said:1: problem: : not JSON: it ends in the middle",
		"vars/global/.hidden:0: warning: : not shown in the mount: its name",
		"vars/global/dir:0: warning: : not shown in the mount: a directory with this name or at this depth",
		"vars/global/bad.json.rej:0: warning: : a refused draft waits here",
		"vars/nowhere:0: warning: : not shown in the mount: a directory with this name or at this depth",
		".ctxfs/vars/global.jsonl:4: problem: : it says no variable's type",
		`.ctxfs/vars/global.jsonl:5: problem: type: "odd" is no type of a variable`,
		".ctxfs/vars/global.jsonl:6: leftover: : the last line has no end: a crash cut it off",
		".ctxfs/vars/nowhere.jsonl:0: warning: : it says the types of no scope",
		".ctxfs/vars-spill:0: leftover: : 1 files (5 bytes) are left of session variables that have ended with their daemon")
	if did := roomtest.Mend(t, all); !slices.Equal(did, []string{".ctxfs/vars-spill: removed them"}) {
		t.Errorf("mended: %q", did)
	}
	left, err := fs.Glob(os.DirFS(dir), ".ctxfs/vars-spill/*")
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
