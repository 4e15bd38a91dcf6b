package room

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
)

const (
	// JournalKey is where a store keeps its refusals, one JSON object a line.
	JournalKey backing.Key = backing.Own + "/log/refusals"
	// JournalLines is how many refusals are kept, the newest.
	JournalLines = 100
	// journalBytes is the length at which the stored journal is rewritten
	// with its newest lines.
	journalBytes = 256 << 10
)

// Journal remembers the newest refusals, so that an agent whose tool hid the
// error can still find out what was wrong. It holds no content of entries.
// Safe for concurrent use; reading it never waits for the store.
type Journal struct {
	store backing.Store

	wmu    sync.Mutex // serialises writes to the store; guards stored
	stored int64      // bytes at JournalKey

	mu    sync.Mutex // guards lines and err; taken after wmu
	lines []journalLine
	err   error // why the last line did not reach the store
}

// journalLine is one refusal, as JSON without a line end. Lines are kept with
// the oldest first.
type journalLine struct {
	text []byte
	uid  *uint32 // who was refused; nil where an older ctxfs did not say
}

// refused is what one line says.
type refused struct {
	Time   string  `json:"time"`
	Path   string  `json:"path"`
	Agent  string  `json:"agent"`
	PID    uint32  `json:"pid"`
	UID    *uint32 `json:"uid"`
	Errno  string  `json:"errno"`
	Line   int     `json:"line"`
	Field  string  `json:"field"`
	Reason string  `json:"reason"`
	Fix    string  `json:"fix"`
}

// NewJournal returns the journal of store with what it held before. Where
// that cannot be read the journal begins empty and Err says why.
func NewJournal(store backing.Store) *Journal {
	j := &Journal{store: store}
	j.err = j.load(context.Background())
	return j
}

func (j *Journal) load(ctx context.Context) error {
	c, err := j.store.Open(ctx, JournalKey, "")
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the journal of refusals: %w", err)
	}
	defer c.Close()
	text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
	if err != nil {
		return fmt.Errorf("read the journal of refusals: %w", err)
	}
	j.stored = int64(len(text))
	for line := range bytes.Lines(text) {
		// A crash can leave half a line at the end.
		if line = bytes.TrimRight(line, "\n"); json.Valid(line) {
			var r refused
			_ = json.Unmarshal(line, &r) // what it does not say is nobody's
			j.keep(journalLine{line, r.UID})
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		j.stored = journalBytes // rewritten with the next line, not continued in the middle of one
	}
	return nil
}

// keep adds a line and drops the oldest beyond JournalLines.
func (j *Journal) keep(line journalLine) {
	j.lines = append(j.lines, line)
	if n := len(j.lines) - JournalLines; n > 0 {
		j.lines = append([]journalLine(nil), j.lines[n:]...)
	}
}

// Refuse adds r, told to by at the time at. Where the store does not take the
// line it stays in memory, and Err says why.
func (j *Journal) Refuse(r codec.Refusal, by Caller, at time.Time) {
	line, err := json.Marshal(refused{
		Time: at.UTC().Format("2006-01-02T15:04:05.000Z"), Path: r.Path, Agent: by.Agent, PID: by.PID, UID: &by.UID,
		Errno: unix.ErrnoName(r.Errno), Line: r.Line, Field: r.Field, Reason: r.Reason, Fix: r.Fix,
	})
	line = []byte(codec.HarmlessJSON(string(line))) // people read it with cat
	j.wmu.Lock()
	defer j.wmu.Unlock()
	if err == nil {
		j.mu.Lock()
		j.keep(journalLine{line, &by.UID})
		j.mu.Unlock()
		err = j.save(context.Background(), line)
	}
	j.mu.Lock()
	j.err = err
	j.mu.Unlock()
}

// save appends line to the stored journal, or rewrites it where it is long.
func (j *Journal) save(ctx context.Context, line []byte) error {
	if j.store.ReadOnly() {
		return nil
	}
	if j.stored == 0 {
		if err := MakeOwnDir(ctx, j.store, JournalKey.Dir()); err != nil {
			return err
		}
	}
	if j.stored+int64(len(line)) < journalBytes {
		m, err := j.store.Append(ctx, JournalKey, append(line[:len(line):len(line)], '\n'))
		if err != nil {
			return fmt.Errorf("append to the journal of refusals: %w", err)
		}
		j.stored = m.Size
		return nil
	}
	m, err := j.store.Put(ctx, JournalKey, bytes.NewReader(j.Last()), backing.PutOptions{})
	if err != nil {
		return fmt.Errorf("rewrite the journal of refusals: %w", err)
	}
	j.stored = m.Size
	return nil
}

// Last returns the newest [JournalLines] refusals as JSONL, the newest last:
// time, path, agent, pid, uid, errno (its name, "EINVAL"), line, field, reason
// and fix.
func (j *Journal) Last() []byte {
	return j.those(func(journalLine) bool { return true })
}

// LastOf is Last for what was told to the user uid: a reason may quote what
// others must not read.
func (j *Journal) LastOf(uid uint32) []byte {
	return j.those(func(l journalLine) bool { return l.uid != nil && *l.uid == uid })
}

func (j *Journal) those(wanted func(journalLine) bool) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b bytes.Buffer
	for _, line := range j.lines {
		if wanted(line) {
			b.Write(line.text)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// Since counts the refusals since t that it still holds.
func (j *Journal) Since(t time.Time) (n int) {
	for line := range bytes.Lines(j.Last()) {
		var r refused
		if json.Unmarshal(line, &r) != nil {
			continue // kept as it was found; it says nothing of a time
		}
		if at, err := time.Parse(time.RFC3339, r.Time); err == nil && !at.Before(t) {
			n++
		}
	}
	return n
}

// Err says why the last refusal, or what was stored before the start, is not
// kept in the store; nil where all is well.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// MakeOwnDir makes dir below [backing.Own] with its parents, where they are
// missing. backing.Own itself is the store's to make.
func MakeOwnDir(ctx context.Context, store backing.Store, dir backing.Key) error {
	if dir == "" || dir == backing.Own {
		return nil
	}
	if err := MakeOwnDir(ctx, store, dir.Dir()); err != nil {
		return err
	}
	if _, err := store.MakeDir(ctx, dir, 0o700); err != nil && !errors.Is(err, backing.ErrExists) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return nil
}
