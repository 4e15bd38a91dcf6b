package index

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/entries"
	"ctxfs/room"
)

// Content is where a search reads the entries that it found.
type Content interface {
	Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error)
}

// Source is the room that is indexed; *entries.Entries is one.
type Source interface {
	Content
	Stat(ctx context.Context, path string) (room.Info, error)
	List(ctx context.Context, dir, after string, limit int) ([]room.Info, error)
	Follow(ctx context.Context, changed func([]entries.Change)) error
	Told(ctx context.Context) error
}

// Options of [Open]. The zero value works.
type Options struct {
	Log *slog.Logger // nil is slog.Default()
}

// Patience is how long who asks waits for the index to follow.
const Patience = time.Second

// turn is how long the index writes before others get their turn: what is
// committed meanwhile, and the end of the program, wait for no longer.
const turn = 250 * time.Millisecond

// retryAfter is how long the index waits when its file could not be written.
const retryAfter = 2 * time.Second

// Index is an index that follows its source. The caller closes it before the
// source.
type Index struct {
	*Reader
	path string
	src  Source
	log  *slog.Logger

	ctx  context.Context // of the index's own work
	stop context.CancelFunc
	work sync.WaitGroup
	wake chan struct{} // holds a token while there may be a backlog

	mu      sync.Mutex  // serialises writes; guards what follows
	w       *writer     // nil while the file cannot be opened
	opened  os.FileInfo // of the file that w writes
	noted   bool        // see mark
	backlog []string    // paths to look at, the next one first
	todo    map[string]bool
	begun   bool          // the comparison with all entries is done
	idle    chan struct{} // closed when nothing is left to do; nil where that is so
	since   time.Time     // when idle was made
	err     error         // why the last write failed
}

// Open returns the index in the file at path, which follows src in the
// background. A file that is missing, damaged or of another layout is made
// anew; one that cannot be written is tried again and again, see Status.
func Open(path string, src Source, o Options) *Index {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	x := &Index{Reader: &Reader{path: path, content: src}, path: path, src: src, log: o.Log,
		wake: make(chan struct{}, 1), todo: map[string]bool{}}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.busy()
	x.work.Go(func() {
		if err := src.Follow(x.ctx, x.changed); err != nil {
			x.failed(err)
		}
	})
	x.work.Go(x.drain)
	return x
}

// Close ends following and closes the file.
func (x *Index) Close() error {
	x.mu.Lock()
	x.stop()
	x.mu.Unlock()
	x.work.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := errors.Join(x.Reader.Close(), x.shut()); err != nil {
		return err
	}
	return unmark(x.path)
}

// changed indexes what the source reports: entries at once, directories by
// way of the backlog.
func (x *Index) changed(batch []entries.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(batch) > 0 && x.ctx.Err() == nil {
		n := 0
		err := x.write(func(ctx context.Context) (err error) {
			n, err = x.forATurn(len(batch), func(i int) error { return x.look(ctx, batch[i]) })
			return err
		})
		if err != nil {
			x.again(err)
			return
		}
		batch = batch[n:]
	}
}

// forATurn calls do with the numbers below n until its turn, or the index,
// ends, and returns how often.
func (x *Index) forATurn(n int, do func(i int) error) (int, error) {
	end := time.Now().Add(turn)
	for i := range n {
		if x.ctx.Err() != nil || i > 0 && time.Now().After(end) {
			return i, nil
		}
		if err := do(i); err != nil {
			return i, err
		}
	}
	return n, nil
}

// look deals with one change. x.mu is held.
func (x *Index) look(ctx context.Context, c entries.Change) error {
	if c.Path == "" {
		if !c.Deep {
			return nil // its members report themselves
		}
		return x.compare(ctx, "")
	}
	info, err := x.src.Stat(ctx, c.Path)
	if err == nil && info.Kind == room.Dir {
		return x.compare(ctx, c.Path)
	}
	if !codec.IsEntry(backing.Key(c.Path).Name()) && !gone(err) {
		return nil
	}
	return x.one(ctx, c.Path)
}

// one indexes the entry at p. What cannot be read now is not worth stopping
// for: the next start, or its next change, tries again.
func (x *Index) one(ctx context.Context, p string) error {
	err := x.w.update(ctx, p)
	if err != nil && !isDatabase(err) {
		x.log.Warn("an entry is not in the index", "path", p, "err", err)
		return nil
	}
	return err
}

// drain works off the backlog, a turn at a time.
func (x *Index) drain() {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.wake:
		}
		for x.drainTurn() {
		}
	}
}

func (x *Index) drainTurn() (more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() != nil {
		return false
	}
	if len(x.backlog) == 0 {
		x.rest()
		return false
	}
	n := 0
	err := x.write(func(ctx context.Context) (err error) {
		n, err = x.forATurn(len(x.backlog), func(i int) error { return x.one(ctx, x.backlog[i]) })
		return err
	})
	if err != nil {
		x.again(err)
		return false
	}
	for _, p := range x.backlog[:n] {
		delete(x.todo, p)
	}
	x.backlog = x.backlog[n:]
	x.rest()
	return len(x.backlog) > 0
}

// busy notes that there is something to do besides the reported changes.
// x.mu is held.
func (x *Index) busy() {
	if x.idle == nil {
		x.idle, x.since = make(chan struct{}), time.Now()
	}
}

// rest ends what busy began, if nothing is left. x.mu is held.
func (x *Index) rest() {
	if x.idle != nil && x.begun && len(x.backlog) == 0 {
		close(x.idle)
		x.idle = nil
	}
}

// failed notes that following has ended.
func (x *Index) failed(err error) {
	if x.ctx.Err() != nil {
		return
	}
	x.log.Error("the index follows no more", "err", err)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
}
