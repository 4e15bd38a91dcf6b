package room

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/codec"
)

var at = time.Date(2026, 2, 22, 10, 0, 0, 5e6, time.UTC)

func refusal(n int) codec.Refusal {
	return codec.Refusal{Errno: syscall.EINVAL, Path: fmt.Sprintf("a/%d.md", n), Line: 3, Field: "type", Reason: "is wrong", Fix: "mend it"}
}

func TestJournalLineSaysWhoWhatAndWhy(t *testing.T) {
	j := NewJournal(newStore(t))
	j.Refuse(refusal(1), Caller{Agent: "alice", PID: 42, UID: 7}, at)
	want := `{"time":"2026-02-22T10:00:00.005Z","path":"a/1.md","agent":"alice","pid":42,"uid":7,"errno":"EINVAL","line":3,"field":"type","reason":"is wrong","fix":"mend it"}` + "\n"
	if got := string(j.Last()); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if err := j.Err(); err != nil {
		t.Error(err)
	}
}

func TestJournalOfAUserHoldsOnlyWhatThatUserWasTold(t *testing.T) {
	s := newStore(t)
	old := []byte(`{"time":"2026-02-22T10:00:00.005Z","path":"a/0.md","agent":"alice","pid":42,"errno":"EINVAL"}` + "\n")
	if err := MakeOwnDir(t.Context(), s, JournalKey.Dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), JournalKey, old); err != nil {
		t.Fatal(err)
	}
	j := NewJournal(s)
	j.Refuse(refusal(1), Caller{Agent: "alice", UID: 7}, at)
	j.Refuse(refusal(2), Caller{Agent: "alice", UID: 8}, at)
	for name, j := range map[string]*Journal{"running": j, "restarted": NewJournal(s)} {
		got := string(j.LastOf(7))
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, `"a/1.md"`) {
			t.Errorf("%s: %s", name, got)
		}
		if n := len(j.LastOf(0)); n != 0 {
			t.Errorf("%s: what says of no user is shown to one, %d bytes", name, n)
		}
	}
}

func TestJournalKeepsTheNewestAcrossARestart(t *testing.T) {
	s := newStore(t)
	j := NewJournal(s)
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	for n := range JournalLines + 20 {
		j.Refuse(refusal(n), Caller{Agent: "alice", PID: 1, UID: 7}, at)
	}
	again := NewJournal(s)
	if !bytes.Equal(j.Last(), again.Last()) {
		t.Error("the journal is another one after a restart")
	}
	lines := strings.Split(strings.TrimSpace(string(again.Last())), "\n")
	if len(lines) != JournalLines || !strings.Contains(lines[0], `"a/20.md"`) || !strings.Contains(lines[99], `"a/119.md"`) {
		t.Errorf("%d lines from %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestStoredJournalStaysShort(t *testing.T) {
	s := newStore(t)
	j := NewJournal(s)
	r := refusal(1)
	r.Reason = strings.Repeat("long ", 200)
	for range 3 * journalBytes / len(r.Reason) {
		j.Refuse(r, Caller{Agent: "alice", PID: 1, UID: 7}, at)
	}
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	m, err := s.Stat(t.Context(), JournalKey)
	if err != nil || m.Size > journalBytes {
		t.Errorf("%d bytes are stored, %v", m.Size, err)
	}
	if !bytes.Equal(j.Last(), NewJournal(s).Last()) {
		t.Error("the newest refusals are not all stored")
	}
}

func TestJournalSurvivesALineThatACrashCutOff(t *testing.T) {
	s := newStore(t)
	NewJournal(s).Refuse(refusal(1), Caller{Agent: "alice", PID: 1, UID: 7}, at)
	if _, err := s.Append(t.Context(), JournalKey, []byte(`{"time":"2026`)); err != nil {
		t.Fatal(err)
	}
	NewJournal(s).Refuse(refusal(2), Caller{Agent: "alice", PID: 1, UID: 7}, at)
	j := NewJournal(s)
	if err := j.Err(); err != nil {
		t.Error(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(string(j.Last())), "\n") {
		if !json.Valid([]byte(line)) || !strings.Contains(line, fmt.Sprintf(`"a/%d.md"`, n+1)) {
			t.Errorf("line %d: %s", n, line)
		}
	}
}
