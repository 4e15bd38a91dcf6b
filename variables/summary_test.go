package variables

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func (w *world) summary(scope Scope, key string, tokens int) string {
	w.t.Helper()
	text, err := w.Summarize(bg, scope, key, tokens)
	if err != nil {
		w.t.Fatal(err)
	}
	limit := tokens
	if limit == 0 {
		limit = DefaultSummaryTokens
	}
	n, err := CountTokens(text)
	if err != nil || n > limit || n == 0 {
		w.t.Fatalf("%d tokens where %d are allowed, %v: %q", n, limit, err, text)
	}
	return text
}

func wantContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, text)
		}
	}
}

func TestSummariesSayWhatTheTypeHas(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "doc", "# Title\n\nIntro sentence. Second one.\n\n## Methods\n\nWe measured things. Often.\n\n## Results\nAll good!\n")
	wantContains(t, w.summary(Global, "doc", 0), "# Title", "Intro sentence.", "## Methods", "We measured things.", "## Results", "lines")
	var rows []map[string]any
	for i := range 500 {
		rows = append(rows, map[string]any{"id": i, "name": fmt.Sprint("row ", i), "tags": []string{"x", "y"}})
	}
	if _, err := w.Set(bg, "data.json", map[string]any{"version": 3, "rows": rows}, SetOptions{}); err != nil {
		t.Fatal(err)
	}
	wantContains(t, w.summary(Global, "data.json", 0), "object of 2 fields", "rows: list of 500 items", "id: number", "row 0", "tags: list of 1000 items", "version: number, e.g. 3")
	var log strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&log, "line number %d of the log\n", i)
	}
	if _, err := w.Append(bg, "log", []byte(log.String()), SetOptions{}); err != nil {
		t.Fatal(err)
	}
	wantContains(t, w.summary(Global, "log", 0), "20000 lines", "line number 0 of", "line number 19999 of", "…")
	w.set(Global, "binary", "\x00\x01\x02\xff\n")
	wantContains(t, w.summary(Global, "binary", 0), "binary", "5 bytes")
	w.set(Global, "empty", "")
	wantContains(t, w.summary(Global, "empty", 0), "empty text")
}

func TestASummaryNeverPassesItsLimit(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "long", strings.Repeat("word ", 20000))
	w.set(Global, "cjk", strings.Repeat("漢字と仮名。", 5000))
	w.set(Global, "noise", strings.Repeat("\xfe\xfdx9%&\u200d", 3000))
	w.set(Global, "headings", strings.Repeat("# A heading that repeats\ntext below it.\n", 1000))
	w.set(Global, "big.json", `[`+strings.Repeat(`{"key":"some value"},`, 40000)+`1]`)
	w.set(Global, "deep.json", strings.Repeat(`{"a":[`, 1000)+strings.Repeat(`]}`, 1000))
	w.set(Global, "wide.json", "{"+strings.Repeat(`"k":1,`, 5)+func() string {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, `"field%d":[%d],`, i, i)
		}
		return b.String()
	}()+`"z":0}`)
	for _, key := range []string{"long", "cjk", "noise", "headings", "big.json", "deep.json", "wide.json"} {
		for _, tokens := range []int{1, 50, 1000} {
			w.summary(Global, key, tokens)
		}
	}
}

func TestTheSecondSummaryReadsNothing(t *testing.T) {
	w := openWorld(t, Options{MemoryCeiling: 1})
	for _, scope := range scopes {
		w.set(scope, "k", "# One\n")
		first := w.summary(scope, "k", 0)
		w.store.reads.Store(0)
		if got := w.summary(scope, "k", 0); got != first {
			t.Fatalf("%q, then %q", first, got)
		}
		if n := w.store.reads.Load(); n != 0 {
			t.Fatalf("%d contents were opened", n)
		}
		w.set(scope, "k", "# Two\n")
		wantContains(t, w.summary(scope, "k", 0), "# Two")
	}
}

func TestSummariesAreFiles(t *testing.T) {
	w := openWorld(t, Options{})
	w.set(Global, "k", strings.Repeat("# Heading\n", 1000))
	w.set(Global, "k@7", "# Seven\n")
	text := w.read(w.Room(), "global/.summary/k@20")
	if n, err := CountTokens(text); err != nil || n > 20 {
		t.Fatalf("%d tokens, %v", n, err)
	}
	if long := w.read(w.Room(), "global/.summary/k"); len(long) <= len(text) {
		t.Fatalf("%q is no longer than %q", long, text)
	}
	wantContains(t, w.read(w.Room(), "global/.summary/k@7"), "# Seven")
	for _, path := range []string{"global/.summary/k@x", "global/.summary/none@5", "global/.summary/k@-1", "global/.summary/k@0"} {
		if _, err := w.Room().Read(bg, path, ""); err == nil {
			t.Errorf("%s can be read", path)
		}
	}
}

func TestACommandSummarizes(t *testing.T) {
	dir := t.TempDir()
	w := openWorld(t, Options{Summarizer: Command{Line: `echo call >> ` + dir + `/calls; printf 'limit %s, type %s, ' $` + SummaryTokensEnv + ` $` + SummaryTypeEnv + `; wc -c`}})
	w.set(Global, "k", strings.Repeat("x", 12345))
	for range 2 {
		wantContains(t, w.summary(Global, "k", 33), "limit 33", "type text", "12345")
	}
	if calls, err := os.ReadFile(dir + "/calls"); err != nil || string(calls) != "call\n" {
		t.Fatalf("calls %q, %v", calls, err)
	}
}

func TestACommandThatFailsFallsBackToTheBuiltInSummary(t *testing.T) {
	tests := map[string]Command{
		"exit status": {Line: "echo wrong; exit 3"},
		"silence":     {Line: "cat > /dev/null"},
		"no command":  {Line: "no-such-command-at-all"},
		"too slow":    {Line: "sleep 60 & sleep 60", Timeout: 50 * time.Millisecond},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, Options{Summarizer: c})
			w.set(Global, "k", "# The heading\n")
			begin := time.Now()
			wantContains(t, w.summary(Global, "k", 0), "# The heading")
			if d := time.Since(begin); d > 20*time.Second {
				t.Fatalf("it took %v", d)
			}
		})
	}
}

func TestACommandGetsAndGivesNoMoreThanItsShare(t *testing.T) {
	c := Command{Line: "wc -c", MaxInput: 1000}
	if got, err := c.Summarize(bg, Text, strings.NewReader(strings.Repeat("x", 5000)), 10); err != nil || got != "1000" {
		t.Fatalf("%q, %v", got, err)
	}
	c = Command{Line: "head -c 5000000 /dev/zero | tr '\\0' x"}
	if got, err := c.Summarize(bg, Text, strings.NewReader(""), 10); err != nil || len(got) != summaryOutput {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	c = Command{Line: "head -c 1"} // does not read it all
	if got, err := c.Summarize(bg, Text, strings.NewReader(strings.Repeat("x", 1<<20)), 10); err != nil || got != "x" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestAnEndpointSummarizes(t *testing.T) {
	asked := make(chan chatRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var q chatRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s %v %v", r.Method, r.Header, err)
		}
		asked <- q
		io.WriteString(rw, `{"choices":[{"message":{"role":"assistant","content":"A model's words, `+strings.Repeat("and more ", 500)+`"}}]}`)
	}))
	defer server.Close()
	w := openWorld(t, Options{Summarizer: Endpoint{URL: server.URL, Model: "small", Key: "key", MaxInput: 100}})
	w.set(Global, "k", strings.Repeat("c", 500))
	wantContains(t, w.summary(Global, "k", 25), "A model's words")
	q := <-asked
	if q.Model != "small" || q.MaxTokens != 25 || len(q.Messages) != 2 || q.Messages[1].Role != "user" || q.Messages[1].Content != strings.Repeat("c", 100) {
		t.Fatalf("%+v", q)
	}
	w.summary(Global, "k", 25)
	select {
	case q := <-asked:
		t.Fatalf("asked twice: %+v", q)
	default:
	}
}

func TestAnEndpointThatFailsFallsBackToTheBuiltInSummary(t *testing.T) {
	tests := map[string]func(rw http.ResponseWriter, r *http.Request){
		"status": func(rw http.ResponseWriter, r *http.Request) {
			http.Error(rw, "overloaded", http.StatusServiceUnavailable)
		},
		"no json":   func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "<html>") },
		"no choice": func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, `{"choices":[]}`) },
		"too long": func(rw http.ResponseWriter, r *http.Request) {
			io.WriteString(rw, `{"choices":[{"message":{"content":"`+strings.Repeat("x", summaryOutput+10)+`"}}]}`)
		},
		"too slow": func(rw http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
			<-r.Context().Done()
		},
	}
	for name, handle := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(handle))
			defer server.Close()
			w := openWorld(t, Options{Summarizer: Endpoint{URL: server.URL, Timeout: 200 * time.Millisecond}})
			w.set(Global, "k", "# The heading\n")
			wantContains(t, w.summary(Global, "k", 0), "# The heading")
		})
	}
}

// counter is a summarizer that fails until it is told otherwise.
type counter struct{ calls, fails int }

func (c *counter) Summarize(ctx context.Context, t Type, r io.Reader, n int) (string, error) {
	if c.calls++; c.calls <= c.fails {
		return "", io.ErrUnexpectedEOF
	}
	return "the model's", nil
}

func TestAFailureOfTheSummarizerIsNotKept(t *testing.T) {
	c := &counter{fails: 1}
	w := openWorld(t, Options{Summarizer: c})
	w.set(Global, "k", "# The heading\n")
	wantContains(t, w.summary(Global, "k", 0), "# The heading")
	wantContains(t, w.summary(Global, "k", 0), "the model's")
	wantContains(t, w.summary(Global, "k", 0), "the model's")
	if c.calls != 2 {
		t.Fatalf("%d calls", c.calls)
	}
}
