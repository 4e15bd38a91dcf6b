package memories

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ctxfs/backing"
)

// line is what a test looks at in a stored line.
type line struct {
	N         int    `json:"n"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	Context   struct {
		Active string `json:"activeContext"`
	} `json:"context"`
}

func (b *bench) lines(memory string) []line {
	b.t.Helper()
	var all []line
	for l := range strings.Lines(b.file("memories/" + memory + "/entries.jsonl")) {
		var one line
		if err := json.Unmarshal([]byte(l), &one); err != nil {
			b.t.Fatalf("%q: %v", l, err)
		}
		all = append(all, one)
	}
	return all
}

func TestEntryCarriesTheContextThatWasPutBeforeIt(t *testing.T) {
	b := newBench(t, quick())
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "one")
	within(t, g.reached, "the worker")
	b.put("m1", "two")
	done := make(chan error, 1)
	go func() {
		_, err := b.AddEntry(ctx, "m1", []byte(`{"text":"a"}`))
		done <- err
	}()
	g.release()
	if err := within(t, done, "the entry"); err != nil {
		t.Fatal(err)
	}
	b.put("m1", "three")
	id := b.add("m1", `{"text":"b"}`)
	got := b.lines("m1")
	if len(got) != 2 || got[0].Context.Active != "two" || got[1].Context.Active != "three" {
		t.Fatalf("%+v", got)
	}
	if got[1].ID != id || got[0].ID == got[1].ID || got[0].Timestamp == "" {
		t.Fatalf("%+v, returned id %s", got, id)
	}
}

func TestEveryEntryCarriesTheNewestOfManyContexts(t *testing.T) {
	b := newBench(t, quick())
	var wg sync.WaitGroup
	for m := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("m", m)
			for i := range 20 {
				err := b.PutContext(ctx, name, fmt.Sprint("context ", i))
				if err == nil {
					_, err = b.AddEntry(ctx, name, fmt.Appendf(nil, `{"n":%d}`, i))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for m := range 8 {
		for i, l := range b.lines(fmt.Sprint("m", m)) {
			if l.N != i || l.Context.Active != fmt.Sprint("context ", i) {
				t.Fatalf("entry %d of m%d is %+v", i, m, l)
			}
		}
	}
}

func TestEntryInitialisesAMissingOrMalformedSnapshot(t *testing.T) {
	for _, c := range []struct{ name, snapshot string }{
		{"missing", ""}, {"no JSON", `{"activeContext":`}, {"no object", `"text"`}, {"no field", `{}`}, {"no string", `{"activeContext":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, quick())
			b.put("m1", "text")
			b.await("m1")
			path := filepath.Join(b.dir, "memories", "m1", "context.json")
			err := os.WriteFile(path, []byte(c.snapshot), 0o644)
			if c.snapshot == "" {
				err = os.Remove(path)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := len(b.disk.calls)
			b.add("m1", `{"text":"x"}`)
			b.wantFile("memories/m1/context.json", `{"activeContext":""}`)
			if got := b.lines("m1"); got[0].Context.Active != "" {
				t.Fatalf("%+v", got)
			}
			// By the same write sequence, and before the entry.
			calls := strings.Join(b.disk.calls[before:], ", ")
			want := "open memories/m1/context.json.tmp, write memories/m1/context.json.tmp, fsync memories/m1/context.json.tmp, " +
				"rename memories/m1/context.json, append memories/m1/entries.jsonl, sync memories/m1/entries.jsonl"
			if calls != want {
				t.Fatalf("calls %s", calls)
			}
		})
	}
}

func TestEntryCarriesTheBytesOfAForeignSnapshot(t *testing.T) {
	b := newBench(t, quick())
	b.add("m1", `{}`)
	foreign := `{"activeContext":"x",  "other":[1, 2]}`
	if err := os.WriteFile(filepath.Join(b.dir, "memories", "m1", "context.json"), []byte(foreign), 0o644); err != nil {
		t.Fatal(err)
	}
	b.add("m1", `{}`)
	if text := b.file("memories/m1/entries.jsonl"); !strings.Contains(text, `"context":`+foreign+"}\n") {
		t.Fatalf("%s", text)
	}
}

func TestEntryThatIsNoneIsRefusedAndTheFileUnchanged(t *testing.T) {
	b := newBench(t, quick())
	b.add("m1", `{"text":"x"}`)
	was := b.file("memories/m1/entries.jsonl")
	for _, bad := range []string{"", "text", "[1]", `{"a":}`, "{}\n{}", `{"context":1}`} {
		_, err := b.AddEntry(ctx, "m1", []byte(bad))
		r := wantRefusal(t, err, syscall.EINVAL)
		if r.Path != "memories/m1/entries.jsonl" {
			t.Fatalf("refused at %s", r.Path)
		}
	}
	b.wantFile("memories/m1/entries.jsonl", was)
}

func TestEntryKeepsItsOwnIDAndTimestamp(t *testing.T) {
	b := newBench(t, quick())
	raw := `{"id":"mine-1", "timestamp":"2026-01-01", "text":"x"}`
	if id := b.add("m1", raw); id != "mine-1" {
		t.Fatalf("id %s", id)
	}
	b.wantFile("memories/m1/entries.jsonl", strings.TrimSuffix(raw, "}")+`,"context":{"activeContext":""}}`+"\n")
}

func TestEntryBeginsANewLineAfterATornOne(t *testing.T) {
	b := newBench(t, quick())
	b.add("m1", `{"text":"x"}`)
	path := filepath.Join(b.dir, "memories", "m1", "entries.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"te`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	b.add("m1", `{"text":"y"}`)
	lines := strings.SplitAfter(b.file("memories/m1/entries.jsonl"), "\n")
	if len(lines) != 4 || lines[1] != "{\"te\n" || !strings.HasPrefix(lines[2], `{"text":"y"`) {
		t.Fatalf("%q", lines)
	}
}

func TestEntryIsNotAddedTwiceWhenAFailedAppendIsRetried(t *testing.T) {
	b := newBench(t, quick())
	left := 2
	b.disk.disturb(func(op string, key backing.Key) error {
		if op == "append" && left > 0 {
			left--
			return syscall.ENOSPC
		}
		return nil
	})
	b.add("m1", `{"text":"x"}`)
	if got := b.lines("m1"); len(got) != 1 || left != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestEntryWhoseSyncFailedIsAnErrorAndNotRepeated(t *testing.T) {
	b := newBench(t, quick())
	b.disk.disturb(func(op string, key backing.Key) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if _, err := b.AddEntry(ctx, "m1", []byte(`{"text":"x"}`)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	if got := b.lines("m1"); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestClosedMemoriesTakeNothing(t *testing.T) {
	b := newBench(t, quick())
	m := b.Memories
	b.close()
	if err := m.PutContext(ctx, "m1", "x"); err == nil {
		t.Fatal("put after Close")
	}
	if _, err := m.AddEntry(ctx, "m1", []byte("{}")); err == nil {
		t.Fatal("entry after Close")
	}
}
