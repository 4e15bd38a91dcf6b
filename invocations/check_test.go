package invocations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/backing/localdir"
	"ctxfs/room"
	"ctxfs/room/roomtest"
)

func wantProblems(t *testing.T, store *localdir.Store, want ...string) []room.Problem {
	t.Helper()
	return roomtest.Problems(t, func(report func(room.Problem)) error { return CheckStore(t.Context(), store, report) }, want...)
}

const line = `{"tool_name":"grep","params":{},"result":null,"success":true,"timestamp":"2026-02-21T14:30:22Z","id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}` + "\n"

func TestCheckOfASoundHistoryIsSilent(t *testing.T) {
	store, _ := roomtest.Store(t, map[string]string{file: line + "\n" + line})
	wantProblems(t, store)
	empty, _ := roomtest.Store(t, nil)
	wantProblems(t, empty)
}

func TestCheckFindsDamageOfTheHistory(t *testing.T) {
	torn := line[:20]
	store, dir := roomtest.Store(t, map[string]string{
		file:           line + "nonsense\n" + `{"tool_name":"x","params":1}` + "\n" + `{"tool_name":"x","params":1,"result":2,"success":false}` + "\n" + strings.Repeat("x", MaxLine+1) + "\n" + torn,
		string(rejKey): "x",
	})
	all := wantProblems(t, store,
		file+":2: problem: : a line is one JSON object",
		file+":3: problem: result: it is missing",
		file+":4: warning: timestamp: it is missing",
		file+":4: warning: id: it is missing",
		file+":5: problem: : a line has at most 8 MiB",
		file+":6: leftover: : the last line has no end",
		file+".rej:0: warning: : refused lines wait here")
	if did := roomtest.Mend(t, all); len(did) != 1 || !strings.HasSuffix(did[0], "moved it to "+string(rejKey)) {
		t.Errorf("mended: %q", did)
	}
	text, err := os.ReadFile(filepath.Join(dir, string(rejKey)))
	if err != nil || !strings.Contains(string(text), torn) {
		t.Errorf("the refused lines are %q, %v", text, err)
	}
}

func TestALastLineWithoutItsEndIsEnded(t *testing.T) {
	store, dir := roomtest.Store(t, map[string]string{file: strings.TrimSuffix(line, "\n")})
	all := wantProblems(t, store, file+":1: leftover: : the last line has no end")
	if did, err := all[0].Mend(t.Context()); err != nil || did != "ended it" {
		t.Errorf("%q, %v", did, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != line {
		t.Errorf("the history is %q, %v", text, err)
	}
}
