package main

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"ctxfs/codec"
)

func TestEntriesAreStoredByteForByte(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 2 * (sessionsPerAgent + 1) {
		agent, session := place(i)
		at := firstEntry.Add(time.Duration(i) * time.Second)
		text := entry(r, agent, session, at, smallest+r.IntN(span))
		if err := codec.CheckEntryName(entryName(at, i)); err != nil {
			t.Error(err)
		}
		got, err := codec.Complete(text, codec.Known{Agent: agent, SessionDir: session, Time: at, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, text) {
			t.Errorf("%s/%s: completed to %q", agent, session, got)
		}
	}
}

func TestEntryHasTheSizeAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{smallest, saveSize, smallest + span} {
		if got := len(entry(r, "a", "", firstEntry, size)); got != size {
			t.Errorf("%d bytes, want %d", got, size)
		}
	}
}

func TestNoEntryHoldsTheAbsentString(t *testing.T) {
	for i := range 100 {
		if _, text := saveEntry(i, 1); bytes.Contains(text, []byte(absent)) {
			t.Fatalf("entry %d holds it", i)
		}
	}
}

func TestStoreHasElevenDirectoriesForEachFourHundredEntries(t *testing.T) {
	dir := t.TempDir()
	last, err := makeStore(t.Context(), dir, 2*entriesPerAgent)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := countEntries(dir); err != nil || n != 2*entriesPerAgent {
		t.Errorf("%d entries, %v", n, err)
	}
	for pattern, want := range map[string]int{"*": 2, "*/session-*": 2 * sessionsPerAgent, last: 1} {
		if got, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(got) != want {
			t.Errorf("%s: %d, want %d (%v)", pattern, len(got), want, err)
		}
	}
}
