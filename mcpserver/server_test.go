package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ctxfs/access"
	"ctxfs/index"
	"ctxfs/operations"
)

func TestCallsInParallel(t *testing.T) {
	w := newWorld(t)
	const clients, calls = 6, 3
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for n := range calls {
				value := fmt.Sprintf("%d of %d", n, c)
				args := fmt.Sprintf(`{"key": "k%d", "value": %q}`, c, value)
				w.must("set_variable", args)
				if got := w.must("get_variable", fmt.Sprintf(`{"key": "k%d"}`, c)); got != value {
					t.Errorf("%s holds %q", args, got)
				}
				w.must("write_entry", `{"slug": "same", "type": "finding", "body": "x"}`)
				w.must("search_entries", `{"query": "x"}`)
			}
		})
	}
	wg.Wait()
	lines, err := os.ReadFile(filepath.Join(w.dir, operations.HistoryFile))
	if n := strings.Count(string(lines), "\n"); err != nil || n != clients*calls*4 {
		t.Errorf("%d calls are recorded, %v; want %d", n, err, clients*calls*4)
	}
	entries, err := os.ReadDir(filepath.Join(w.dir, "alice"))
	if err != nil || len(entries) != clients*calls {
		t.Errorf("there are %d entries, %v; want %d", len(entries), err, clients*calls)
	}
}

func TestResultsOutliveTheirCallAndAreHandedOverToAMount(t *testing.T) {
	w := newWorld(t)
	w.must("save_context", `{"tool_name": "grep", "result": "before"}`)
	if got := w.must("list_contexts", `{}`); !strings.Contains(got, `"toolName":"grep"`) {
		t.Errorf("the list is %s", got)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "results")); err == nil {
		t.Errorf("the store holds %v", left)
	}
	// From now on another process has the store, as a mount would.
	mounted, err := w.open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mounted.Close(); err != nil {
			t.Error(err)
		}
	})
	w.reach = func() (*operations.Actor, error) {
		return &operations.Actor{Files: staysOpen{mounted.Files}, Point: "/a/mount", Caller: mounted.Caller}, nil
	}
	if got := w.must("load_context", `{"number": 1}`); !strings.Contains(got, `"before"`) {
		t.Errorf("the result is %s", got)
	}
	all, err := mounted.Results(t.Context(), "own")
	if err != nil || len(all) != 1 {
		t.Errorf("the mount has the results %v, %v", all, err)
	}
}

func TestAStoreThatCannotBeReachedIsAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.reach = func() (*operations.Actor, error) { return nil, errors.New("the store is on the moon") }
	for _, tool := range []string{"list_variables", "list_contexts", "read_context"} {
		if texts, failed := w.call(tool, map[string]any{}); !failed || texts[0] != "the store is on the moon" {
			t.Errorf("%s answers %q", tool, texts)
		}
	}
}

func TestSearchesArePaged(t *testing.T) {
	w := newWorld(t)
	var asked index.Query
	w.found = func(q index.Query) ([]index.Hit, string, error) {
		asked = q
		hits := make([]index.Hit, 0, q.Limit)
		for i := range q.Limit {
			hits = append(hits, index.Hit{Path: fmt.Sprint("e", i), Type: "finding"})
		}
		return hits, "[the index is being built]", nil
	}
	texts, _ := w.call("search_entries", map[string]any{"query": "x", "offset": 2, "limit": 3, "superseded": "no", "until": "2026-02-21"})
	if want := "e2  finding  []\ne3  finding  []\ne4  finding  []"; texts[0] != want {
		t.Errorf("the page is %q", texts[0])
	}
	if want := "[the index is being built] [there are more; call again with offset=5]"; len(texts) != 2 || texts[1] != want {
		t.Errorf("the notes are %q", texts[1:])
	}
	if asked.Superseded != index.Superseded("no") || asked.Until.Day() != 21 || asked.Until.Hour() != 23 {
		t.Errorf("the question was %+v", asked)
	}
}

func TestAContentIsReadOnFromWhereItWasCut(t *testing.T) {
	w := newWorld(t)
	want := strings.Repeat("aäß€😀", 8)
	w.must("put_context", fmt.Sprintf(`{"memory_id": "m", "content": %q}`, want))
	for _, limit := range []int{4, 5, 7, 64} {
		var got strings.Builder
		for got.Len() < len(want) {
			texts, failed := w.call("get_context", map[string]any{"memory_id": "m", "offset": got.Len(), "limit": limit})
			if failed || texts[0] == "" || !utf8.ValidString(texts[0]) || len(texts) != 2 {
				t.Fatalf("limit %d, at %d: %q", limit, got.Len(), texts)
			}
			got.WriteString(texts[0])
		}
		if got.String() != want {
			t.Errorf("limit %d: it reads %q", limit, got.String())
		}
	}
}

func TestLongValuesAreShortInTheHistory(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("long ", 10_000)
	w.must("set_variable", fmt.Sprintf(`{"key": "k", "value": [{"a": %q}, 1]}`, long))
	w.must("get_variable", `{"key": "k"}`)
	lines := strings.Split(w.must("read_context", `{}`), "\n")
	if len(lines) != 2 {
		t.Fatalf("the history is %q", lines)
	}
	for _, line := range lines {
		var e struct {
			Params, Result any
			Summary        string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || len(line) > 2*maxValue || e.Summary == "" {
			t.Errorf("%d bytes, %v: %s", len(line), err, line)
		}
	}
	if !strings.Contains(lines[0], "… (50000 bytes in all)") {
		t.Errorf("nothing says how long it was: %s", lines[0])
	}
}

func TestResourcesArePagedInTheOrderOfPaths(t *testing.T) {
	w := newWorld(t)
	want := map[string]bool{}
	for _, agent := range []string{"a", "a-b", "a.b", "a0"} {
		for n := range 30 {
			path := fmt.Sprintf("%s/20260222T1200%02d-x.md", agent, n)
			if n%3 == 0 {
				path = fmt.Sprintf("%s/s%d/20260222T120000-x.md", agent, n)
			}
			file := filepath.Join(w.dir, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("---\ntype: finding\n---\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			want[entryURI+path] = true
		}
	}
	last := ""
	for r, err := range w.client.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if r.URI <= last || !want[r.URI] {
			t.Errorf("after %s comes %s", last, r.URI)
		}
		last = r.URI
		delete(want, r.URI)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	if _, err := w.client.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "no cursor"}); err == nil {
		t.Error("a cursor that is none was taken")
	}
}

// staysOpen are files whose owner closes them.
type staysOpen struct{ access.Files }

func (staysOpen) Close() error { return nil }
