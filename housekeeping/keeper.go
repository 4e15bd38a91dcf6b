package housekeeping

import (
	"context"
	"errors"
	"sync"
	"time"

	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/entries"
	"ctxfs/results"
)

// Request says what to do: to clean, or one of the others.
type Request struct {
	Keep   codec.Retentions `json:"keep"`
	Agent  string           `json:"agent,omitempty"` // whose files; "" is everybody's
	DryRun bool             `json:"dryRun,omitempty"`

	Restore *Restore `json:"restore,omitempty"`
	List    *List    `json:"list,omitempty"`
}

// Restore brings Path, from the top of the store, back from an archive.
type Restore struct {
	Archive string `json:"archive"`
	Path    string `json:"path"`
}

// List asks for the members of an archive, or for all archives.
type List struct {
	Archive string `json:"archive,omitempty"`
}

// Event is a part of the answer: one of its fields is set.
type Event struct {
	Progress *Progress      `json:"progress,omitempty"`
	Item     *Item          `json:"item,omitempty"`
	Archive  *Archive       `json:"archive,omitempty"`
	Done     *Done          `json:"done,omitempty"`    // the last one
	Failed   string         `json:"failed,omitempty"`  // the last one: why
	Refused  *codec.Refusal `json:"refused,omitempty"` // the last one: why
}

// Progress is how far the work has come.
type Progress struct {
	Stage string `json:"stage"`
	Done  int    `json:"done"`
	Of    int    `json:"of"`
}

// Actions of an [Item].
const (
	ActionArchive = "archive" // it is archived and removed
	ActionClear   = "clear"   // it is removed
	ActionKeep    = "keep"    // it is old, and stays
	ActionRestore = "restore" // it was put back
)

// Item is something old, or a member of an archive.
type Item struct {
	Action   string    `json:"action,omitempty"`
	What     string    `json:"what"` // entry, versions, scratch, results
	Path     string    `json:"path"`
	Versions []int     `json:"versions,omitempty"` // their numbers
	Bytes    int64     `json:"bytes"`              // with those of the versions
	Time     time.Time `json:"time"`               // of the last change of the file
	Why      string    `json:"why,omitempty"`
}

// Archive describes one.
type Archive struct {
	Name    string    `json:"name"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
}

// Path is where it lies in the store.
func (a Archive) Path() string { return string(archive.Dir.Join(a.Name)) }

// Done is what it came to, or, in a dry run, would come to.
type Done struct {
	DryRun   bool     `json:"dryRun,omitempty"`
	Archive  *Archive `json:"archive,omitempty"` // nil where nothing was archived
	Entries  int      `json:"entries"`           // removed with their versions
	Versions int      `json:"versions"`          // removed of entries that stay
	Scratch  int      `json:"scratch"`           // other files, removed
	Results  int      `json:"results"`           // cleared, of sessions that have ended
	Bytes    int64    `json:"bytes"`             // of all that was removed, uncompressed
	Kept     int      `json:"kept"`              // old ones that stay
}

// Keeper keeps one store in order. One does so at a time: [Keeper.Do] of two
// callers waits.
type Keeper struct {
	Store   backing.Store
	Entries *entries.Entries
	Results *results.Results // nil where the room is not open
	Now     func() time.Time // names archives; nil is time.Now

	one sync.Mutex // held by a Do
}

// Do does what r says and tells emit of it; an error of emit ends it.
// changing is told the path of each file just before it comes or goes; it may
// be nil. A *codec.Refusal where something cannot be as r says.
func (k *Keeper) Do(ctx context.Context, r Request, emit func(Event) error, changing func(path string)) error {
	k.one.Lock()
	defer k.one.Unlock()
	if changing == nil {
		changing = func(string) {}
	}
	w := &work{Keeper: k, request: r, emit: emit, changing: changing}
	switch {
	case r.List != nil && r.List.Archive == "":
		return w.archives(ctx)
	case r.List != nil:
		return w.members(ctx)
	case r.Restore != nil:
		return w.restore(ctx)
	}
	return w.clean(ctx)
}

// failed is the last event of what ended with err.
func failed(err error) Event {
	if refusal := (*codec.Refusal)(nil); errors.As(err, &refusal) {
		return Event{Refused: refusal}
	}
	return Event{Failed: err.Error()}
}

// err is the error that an event tells, nil where it tells none.
func (e Event) err() error {
	switch {
	case e.Refused != nil:
		return e.Refused
	case e.Failed != "":
		return errors.New(e.Failed)
	}
	return nil
}

// work is one request being done.
type work struct {
	*Keeper
	request  Request
	emit     func(Event) error
	changing func(path string)
	lastly   time.Time // when progress was told
}

// every is how often progress is told at most.
const every = 100 * time.Millisecond

// progress tells how far a stage has come, its end in any case.
func (w *work) progress(stage string, done, of int) error {
	if done < of && time.Since(w.lastly) < every {
		return nil
	}
	w.lastly = time.Now()
	return w.emit(Event{Progress: &Progress{stage, done, of}})
}
