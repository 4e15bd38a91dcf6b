package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"ctxfs/backing"
)

func TestSaveListLoadClear(t *testing.T) {
	b := newBench(t)
	s := b.Session("session-abc123")
	at, err := s.SaveContext(ctx, "search_code", map[string]any{"query": "TODO", "n": 1}, map[string]any{"matches": []int{1, 2, 3}}, "", "query-1")
	b.ok(err)
	if !strings.HasPrefix(at, "results/session-abc123-search_code-") || !strings.HasSuffix(at, ".json") {
		t.Errorf("saved at %s", at)
	}
	want := `{
  "toolName": "search_code",
  "args": {"n":1,"query":"TODO"},
  "result": {"matches":[1,2,3]},
  "timestamp": "2026-02-22T10:00:00Z",
  "queryId": "query-1",
  "sessionId": "session-abc123"
}
`
	if got := b.content(at[len("results/"):]); got != want {
		t.Errorf("the file is\n%s", got)
	}
	pointers, err := s.ListContexts(ctx, "session-abc123")
	b.ok(err)
	if !reflect.DeepEqual(pointers, []ContextPointer{{at, "search_code", start.UnixMilli(), int64(len(want)), "query-1"}}) {
		t.Errorf("pointers %+v", pointers)
	}
	c, err := s.LoadContext(ctx, at)
	b.ok(err)
	if c.ToolName != "search_code" || string(c.Args) != `{"n":1,"query":"TODO"}` || string(c.Result) != `{"matches":[1,2,3]}` ||
		!c.Timestamp.Equal(start) || c.QueryID != "query-1" || c.SessionID != "session-abc123" || c.TaskID != "" {
		t.Errorf("loaded %+v", c)
	}
	b.ok(s.ClearContexts(ctx))
	if pointers, err := s.ListContexts(ctx, "session-abc123"); err != nil || len(pointers) > 0 {
		t.Errorf("after the end of the session: %v, %v", pointers, err)
	}
	if _, err := s.LoadContext(ctx, at); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("load after the end: %v", err)
	}
}

func TestPointerHasTheFieldsOfTheReference(t *testing.T) {
	got, err := json.Marshal(ContextPointer{"results/x", "grep", 1705314600000, 5, "q"})
	if want := `{"filepath":"results/x","toolName":"grep","timestamp":1705314600000,"sizeBytes":5,"queryId":"q"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = json.Marshal(ContextPointer{Filepath: "results/x"})
	if err != nil || strings.Contains(string(got), "queryId") {
		t.Errorf("without a query: %s, %v", got, err)
	}
}

func TestHashQueryIsTheSameEverywhere(t *testing.T) {
	for query, want := range map[string]string{
		"": "query-e3b0c44298fc", "What is TODO?": HashQuery("What is TODO?"), "abc": "query-ba7816bf8f01",
	} {
		if got := HashQuery(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	if HashQuery("a") == HashQuery("A") {
		t.Error("different queries have one id")
	}
}

func TestTheSameOutputIsOneFileAndAnotherOutputAnother(t *testing.T) {
	b := newBench(t)
	s := b.Session("s1")
	save := func(result any, query string) string {
		at, err := s.SaveContext(ctx, "read_file", map[string]any{"path": "a.go"}, result, "", query)
		b.ok(err)
		return at
	}
	first, again, other, query := save("one", "q"), save("one", "q"), save("two", "q"), save("one", "r")
	if first != again {
		t.Errorf("the same output is %s and %s", first, again)
	}
	if first == other || first == query {
		t.Error("an older pointer leads to another output")
	}
	if n := len(b.List("s1")); n != 3 {
		t.Errorf("%d results", n)
	}
}

func TestLargeResultsLieOnDiskAndReadTheSame(t *testing.T) {
	b := newBench(t)
	s := b.Session("s1")
	overhead := len(grepOf(0))
	for _, size := range []int{0, MemoryBelow - overhead - 1, MemoryBelow - overhead, 3 << 20} {
		name := fmt.Sprintf("s1-grep-%d.json", size)
		b.ok(b.save(name, grepOf(size)))
		if got := b.content(name); got != grepOf(size) {
			t.Errorf("%d bytes come back as %d", len(grepOf(size)), len(got))
		}
		disk := strings.Contains(strings.Join(b.onDisk(), " "), name)
		if want := len(grepOf(size)) >= MemoryBelow; disk != want {
			t.Errorf("%d bytes: on disk %v, want %v", len(grepOf(size)), disk, want)
		}
		c, err := s.LoadContext(ctx, name)
		b.ok(err)
		if len(c.Result) != size+2 {
			t.Errorf("loaded %d bytes", len(c.Result))
		}
	}
	if st := b.Status(); st.Results != 4 || st.InMemory != 2 || st.DiskBytes != int64(len(grepOf(MemoryBelow-overhead))+len(grepOf(3<<20))) {
		t.Errorf("status %+v", st)
	}
}

func TestMemoryOfAllResultsIsBounded(t *testing.T) {
	b := newBenchIn(t, t.TempDir(), 64<<10)
	for n := range 20 {
		b.ok(b.save(fmt.Sprintf("s1-grep-%d.json", n), grepOf(10<<10)))
	}
	st := b.Status()
	if st.Results != 20 || st.MemoryBytes > 64<<10 || st.InMemory == 0 || st.InMemory == 20 {
		t.Errorf("status %+v", st)
	}
	for n := range 20 {
		if got := b.content(fmt.Sprintf("s1-grep-%d.json", n)); got != grepOf(10<<10) {
			t.Errorf("result %d has %d bytes", n, len(got))
		}
	}
	if _, err := b.Clear(ctx, "s1"); err != nil || b.Status() != (Status{}) {
		t.Errorf("after the end %+v, %v", b.Status(), err)
	}
}

func TestOverwritingMovesBetweenMemoryAndDisk(t *testing.T) {
	b := newBench(t)
	const name = "s1-grep-1.json"
	for _, size := range []int{10, 100 << 10, 10, 100 << 10, 200 << 10, 10} {
		b.ok(b.save(name, grepOf(size)))
		if got := b.content(name); got != grepOf(size) {
			t.Fatalf("%d bytes come back as %d", len(grepOf(size)), len(got))
		}
		if onDisk := len(b.onDisk()) == 1; onDisk != (size > MemoryBelow) {
			t.Errorf("%d bytes: files %v", size, b.onDisk())
		}
	}
	if st := b.Status(); st.MemoryBytes != int64(len(grepOf(10))) || st.DiskBytes != 0 {
		t.Errorf("status %+v", st)
	}
}

func TestNothingIsRestoredAfterARestart(t *testing.T) {
	dir := t.TempDir()
	b := newBenchIn(t, dir, 0)
	b.ok(b.save("s1-grep-1.json", grepOf(1)))
	b.ok(b.save("s1-grep-2.json", grepOf(1<<20)))
	b.plain("notes.txt", "x")
	b.end = func() error { return b.store.Close() } // as if it were killed
	if left := b.onDisk(); len(left) != 2 {
		t.Fatalf("%v", left)
	}
	b.ok(b.end())
	b.end = nil
	again := newBenchIn(t, dir, 0)
	if names := again.names(); len(names) > 0 || len(again.onDisk()) > 0 {
		t.Errorf("restored: %v, on disk %v", names, again.onDisk())
	}
}

func TestSelectionLoadsOnlyWhatWasChosen(t *testing.T) {
	b := newBench(t)
	s := b.Session("s1")
	save := func(tool string, args map[string]any, result any) {
		_, err := s.SaveContext(ctx, tool, args, result, "", "")
		b.ok(err)
	}
	save("search_code", map[string]any{"query": "TODO"}, make([]int, 150))
	save("read_file", map[string]any{"path": "src/main.ts"}, strings.Repeat("x", 2048))
	_, err := b.Session("s2").SaveContext(ctx, "grep", nil, nil, "", "")
	b.ok(err)
	save("grep", map[string]any{"pattern": "error", "path": "logs"}, map[string]any{"matches": 45})
	want := "1. search_code: Found 150 matches for \"TODO\" (301B)\n2. read_file: Contents of src/main.ts (2KB)\n3. grep: 45 matches for \"error\" in logs (14B)\n"
	if got := List(b.List("s1")); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	numbers, err := ParseSelection("[3, 1]")
	b.ok(err)
	chosen, err := s.Select(ctx, numbers)
	b.ok(err)
	if len(chosen) != 2 || chosen[0].ToolName != "grep" || chosen[1].ToolName != "search_code" {
		t.Errorf("chosen %+v", chosen)
	}
	if _, err := s.Select(ctx, []int{4}); err == nil || !strings.Contains(err.Error(), "no number 4 in the list of 3") {
		t.Errorf("a number that is not there: %v", err)
	}
}

func TestParseSelection(t *testing.T) {
	for answer, want := range map[string][]int{"[1, 2]": {1, 2}, "1,2": {1, 2}, " 3 1\n": {3, 1}, "[]": nil, "": nil, "2,2,2": {2}} {
		if got, err := ParseSelection(answer); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", answer, got, err)
		}
	}
	for _, answer := range []string{"0", "-1", "one", "[1", "1]", "1;2", "99999999999999999999"} {
		if got, err := ParseSelection(answer); err == nil {
			t.Errorf("%q: %v", answer, got)
		}
	}
}

func TestSavesOfManySessionsAtOnce(t *testing.T) {
	b := newBenchIn(t, t.TempDir(), 256<<10)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s := b.Session(fmt.Sprint("s", g%4))
			for n := range 40 {
				result := strings.Repeat("x", n*1000)
				at, err := s.SaveContext(ctx, "grep", map[string]any{"n": n, "g": g}, result, "", "")
				if err != nil {
					t.Error(err)
					return
				}
				if c, err := s.LoadContext(ctx, at); err != nil || len(c.Result) != len(result)+2 {
					t.Error(err)
				}
			}
			if g < 4 {
				return
			}
			if _, err := s.ListContexts(ctx, "s0"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if st := b.Status(); st.Results != 320 {
		t.Errorf("status %+v", st)
	}
	var clearing sync.WaitGroup
	for g := range 8 {
		clearing.Go(func() {
			if err := b.Session(fmt.Sprint("s", g%4)).ClearContexts(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	clearing.Wait()
	if st := b.Status(); st != (Status{}) || len(b.onDisk()) > 0 {
		t.Errorf("after the end %+v, %v", st, b.onDisk())
	}
}

func TestWhatIsNoJSONOrHasNoNameIsRefused(t *testing.T) {
	b := newBench(t)
	for want, save := range map[string]func() (string, error){
		"args": func() (string, error) {
			return b.Session("s").SaveContext(ctx, "t", map[string]any{"f": func() {}}, 1, "", "")
		},
		"result":    func() (string, error) { return b.Session("s").SaveContext(ctx, "t", nil, make(chan int), "", "") },
		"sessionId": func() (string, error) { return b.Session("").SaveContext(ctx, "t", nil, 1, "", "") },
		"toolName": func() (string, error) {
			return b.Session("s").SaveContext(ctx, strings.Repeat("t", 81), nil, 1, "", "")
		},
	} {
		if at, err := save(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: saved at %q, %v", want, at, err)
		}
	}
	if n := b.Status().Results; n != 0 {
		t.Errorf("%d results", n)
	}
}
