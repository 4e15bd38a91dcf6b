package invocations

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/codec"
)

func names(entries []Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ToolName)
	}
	return strings.Join(all, " ")
}

func TestAppendFillsInAndReadReturnsTheNewestLast(t *testing.T) {
	b := newBench(t)
	if got, err := b.Read(ctx, 5); err != nil || len(got) != 0 {
		t.Errorf("an empty history: %v, %v", got, err)
	}
	e, err := b.Append(ctx, Entry{ToolName: "t0", Params: json.RawMessage("{}"), Result: json.RawMessage("0")})
	b.ok(err)
	want := `{"tool_name":"t0","params":{},"result":0,"success":true,"summary":null,"timestamp":"2026-02-22T10:00:00Z","id":"00000000-0000-4000-8000-000000000001"}`
	b.holds(want, "\n")
	if string(e.Line) != want || e.Failed() || !e.Timestamp.Equal(start) || e.ID != newID() {
		t.Errorf("returned %+v", e)
	}
	for n := 1; n < 120; n++ {
		_, err := b.Append(ctx, Entry{ToolName: fmt.Sprint("t", n)})
		b.ok(err)
	}
	b.ok(b.Sync(ctx))
	for limit, want := range map[int]int{1: 1, 3: 3, 0: DefaultLimit, 200: 120, -1: 120} {
		got, err := b.Read(ctx, limit)
		b.ok(err)
		if len(got) != want || got[want-1].ToolName != "t119" || got[0].ToolName != fmt.Sprint("t", 120-want) {
			t.Errorf("limit %d: %s", limit, names(got))
		}
	}
}

func TestAppendRefusesWhatIsNoInvocation(t *testing.T) {
	b := newBench(t)
	for want, e := range map[string]Entry{
		"tool_name":                  {},
		"params":                     {ToolName: "t", Params: json.RawMessage("{")},
		"result: it stands there tw": {ToolName: "t", Extra: []Field{{"result", json.RawMessage("1")}}},
	} {
		_, err := b.Append(ctx, e)
		var r *codec.Refusal
		if !errors.As(err, &r) || r.Errno != syscall.EINVAL || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	b.holds()
}

func TestRecordObservesAnEventBus(t *testing.T) {
	b := newBench(t)
	var bus []func(ToolInvoked)
	bus = append(bus, b.Record)
	for _, observe := range bus {
		observe(ToolInvoked{ToolName: "grep", Params: map[string]any{"q": "<x>"}, Result: []int{1}, Success: true})
		observe(ToolInvoked{ToolName: "rm", Params: func() {}, Success: false, Summary: "Removed", Timestamp: start.Add(time.Second)})
		observe(ToolInvoked{})
	}
	got, err := b.Read(ctx, 0)
	b.ok(err)
	if len(got) != 2 || string(got[0].Params) != `{"q":"<x>"}` || string(got[0].Result) != "[1]" || got[0].Failed() || *got[0].Summary != "Called grep" {
		t.Fatalf("recorded %+v", got)
	}
	if !got[1].Failed() || *got[1].Summary != "Removed" || string(got[1].Result) != "null" || !strings.HasPrefix(string(got[1].Params), `"0x`) || !got[1].Timestamp.Equal(start.Add(time.Second)) {
		t.Errorf("recorded %+v", got[1])
	}
	if !strings.Contains(string(b.journal.Last()), "tool_name") {
		t.Error("an event that is no invocation is lost without a word")
	}
}

func TestSelectFilters(t *testing.T) {
	b := newBench(t)
	failed := false
	for n := range 40 {
		e := Entry{ToolName: []string{"grep", "ls"}[n%2], Result: json.RawMessage(fmt.Sprint(n)), Timestamp: start.Add(time.Duration(n) * time.Minute)}
		if n%5 == 0 {
			e.Success = &failed
		}
		_, err := b.Append(ctx, e)
		b.ok(err)
	}
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{Limit: 2}, "38 39"},
		{Filter{Tool: "grep", Limit: 2}, "36 38"},
		{Filter{Failed: true}, "0 5 10 15 20 25 30 35"},
		{Filter{Failed: true, Tool: "ls", Limit: 2}, "25 35"},
		{Filter{Since: start.Add(37 * time.Minute)}, "37 38 39"},
		{Filter{Since: start.Add(30 * time.Minute), Failed: true}, "30 35"},
		{Filter{Tool: "none"}, ""},
	} {
		got, err := b.Select(ctx, c.filter)
		b.ok(err)
		var results []string
		for _, e := range got {
			results = append(results, string(e.Result))
		}
		if strings.Join(results, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.filter, results, c.want)
		}
	}
}

func TestAppendsOfManyStayWholeLines(t *testing.T) {
	b := newBench(t)
	const writers, each = 16, 1000
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			f := b.open(syscall.O_WRONLY | syscall.O_APPEND)
			for n := range each {
				line := fmt.Sprintf(`{"tool_name":"w%d","params":%d,"result":%q}`+"\n", w, n, strings.Repeat("x", n%300))
				for _, piece := range []string{line[:n%30], line[n%30:]} {
					if _, err := f.WriteAt([]byte(piece), int64(n)); err != nil {
						t.Error(err)
						return
					}
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := b.Read(ctx, -1)
	b.ok(err)
	next := map[string]int{}
	for _, e := range got {
		if string(e.Params) != fmt.Sprint(next[e.ToolName]) {
			t.Fatalf("%s has %s where %d is due", e.ToolName, e.Params, next[e.ToolName])
		}
		next[e.ToolName]++
	}
	if lines := strings.Count(b.stored(fileName), "\n"); len(got) != writers*each || lines != writers*each {
		t.Errorf("%d entries on %d lines", len(got), lines)
	}
}

func TestTornLastLineIsRepaired(t *testing.T) {
	whole := call(1) + filled
	for name, c := range map[string]struct{ text, history, rej string }{
		"whole":           {whole, whole, ""},
		"empty":           {"", "", ""},
		"cut off":         {whole + call(2), whole, call(2)},
		"only its end":    {whole + call(2) + "}", whole + call(2) + "}\n", ""},
		"the only line":   {call(2), "", call(2)},
		"zeros":           {whole + "\x00\x00\x00", whole, "\x00\x00\x00"},
		"longer than one": {whole + strings.Repeat("x", 3*backStep), whole, strings.Repeat("x", 3*backStep)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.close()
			if err := os.WriteFile(b.path(fileName), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			again := newBenchIn(t, b.dir)
			again.holds(c.history)
			if got := again.stored(rejName); c.rej == "" && got != "" || !strings.HasSuffix(got, c.rej+suffix(c.rej)) {
				t.Errorf("the .rej is %q", got)
			}
			again.ok(again.echo(call(3) + "}\n"))
			again.holds(c.history, call(3)+filled)
		})
	}
}

func suffix(rej string) string {
	if rej == "" {
		return ""
	}
	return "\n\n"
}

func TestLinesOfOtherProgramsAreNotContinued(t *testing.T) {
	b := newBench(t)
	b.ok(b.echo(call(1) + "}\n"))
	f, err := os.OpenFile(b.path(fileName), os.O_WRONLY|os.O_APPEND, 0)
	b.ok(err)
	_, err = f.WriteString("half a li")
	b.ok(errors.Join(err, f.Close()))
	b.ok(b.echo(call(2) + "}\n"))
	b.holds(call(1), filled, "half a li\n", call(2), filled)
	got, err := b.Read(ctx, 0)
	if err != nil || names(got) != "t1 t2" {
		t.Errorf("read %s, %v", names(got), err)
	}
}
