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
	// Asked counts what programs have asked of the mount. While it grows fast
	// the index, which nobody waits for, leaves the processors to them. May be nil.
	Asked func() int64
}

// Patience is how long who asks waits for the index to follow.
const Patience = time.Second

// retryAfter is how long the index waits when its file could not be written.
const retryAfter = 2 * time.Second

// Index is an index that follows its source. The caller closes it before the
// source.
type Index struct {
	*Reader
	path  string
	src   Source
	log   *slog.Logger
	asked func() int64 // see Options.Asked

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
	if o.Asked == nil {
		o.Asked = func() int64 { return 0 }
	}
	x := &Index{Reader: &Reader{path: path, content: src}, path: path, src: src, log: o.Log, asked: o.Asked,
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

// Close ends following and closes the file. What is left of a batch of changes
// is not waited for: the next start finds it.
func (x *Index) Close() error {
	x.stop()
	x.mu.Lock() // who goes on after an error has begun to by now, or does not
	x.backlog = nil
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
		n, began := 0, time.Now()
		over := func() bool { return time.Since(began) > turn }
		err := x.write(func(ctx context.Context) (err error) {
			n, err = x.forATurn(over, len(batch), func(i int) error { return x.look(ctx, batch[i]) })
			return err
		})
		if err != nil {
			x.again(err)
			return
		}
		batch = batch[n:]
	}
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
