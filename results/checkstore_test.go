package results

import (
	"testing"

	"ctxfs/backing/localdir"
	"ctxfs/room"
	"ctxfs/room/roomtest"
)

func wantProblems(t *testing.T, store *localdir.Store, want ...string) {
	t.Helper()
	roomtest.Problems(t, func(report func(room.Problem)) error { return CheckStore(t.Context(), store, report) }, want...)
}

func TestCheckOfNoResultsIsSilent(t *testing.T) {
	store, _ := roomtest.Store(t, nil)
	wantProblems(t, store)
}

func TestCheckReadsTheResultsOnDisk(t *testing.T) {
	const good = `{"toolName":"grep","args":{},"result":1,"timestamp":"2026-02-21T14:30:22Z","queryId":"","sessionId":"s1"}`
	store, _ := roomtest.Store(t, map[string]string{
		"results/s1-grep-aa.json":     good,
		"results/s1-find-aa.json":     good,
		"results/s1-grep-bb.json":     "{\n",
		"results/nonsense.json":       good,
		"results/s1-grep-bb.json.rej": "# ctxfs refused this draft of results/s1-grep-bb.json: EINVAL\n\n{",
		"results/notes.tmp":           "x",
		"results/dir/x":               "x",
	})
	wantProblems(t, store,
		`results/s1-find-aa.json:0: problem: : the name does not agree with the content, which is of tool "grep" in session "s1"`,
		"results/s1-grep-bb.json:2: problem: : the JSON ends too early",
		`results/nonsense.json:0: problem: : "nonsense.json" does not name a result`,
		"results/s1-grep-bb.json.rej:0: warning: : a refused draft waits here",
		"results/dir:0: warning: : not shown in the mount: a directory with this name or at this depth",
		"results:0: leftover: : 6 files are left of sessions that have ended with their daemon")
}
