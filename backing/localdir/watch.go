package localdir

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/backing/fanout"
)

// Watch reports changes in the directories that were used since the first
// Watch of this store began, or before it: those that were listed, and those
// that hold what was statted. A token brings a Resync: the store does not
// remember. The channel is closed when ctx or the store ends.
func (s *Store) Watch(ctx context.Context, token string) (<-chan backing.Event, error) {
	if err := s.begin(""); err != nil {
		return nil, told("watch", "", err)
	}
	defer s.end()
	sub := fanout.NewQueue()
	if token != "" {
		sub.Add(backing.Event{Kind: backing.Resync})
	}
	if !s.watches.subscribe(ctx, sub) {
		return nil, told("watch", "", errClosed)
	}
	return sub.Out(), nil
}

// watches are the directories that events come from. A directory joins when
// it is first used, before it is read, and its ancestors with it, because
// their renames move it. One inotify watch serves each; where the system
// gives no more, the directory is looked at twice a second.
type watches struct {
	tree *tree
	top  string // path that fsnotify sees for the top: by descriptor, since the top may be renamed
	log  *slog.Logger

	addMu  sync.Mutex // serialises changes of the set, taken before mu; guards notify, closed
	notify *fsnotify.Watcher
	add    func(path string) error // notify.Add; nil until the first Watch
	closed bool

	mu   sync.RWMutex // guards dirs, subs, seq; never held across a system call
	dirs map[backing.Key]bool
	subs map[*fanout.Queue]bool
	seq  uint64 // of the newest event

	poll    poller
	every   time.Duration // between two looks at a polled directory
	noLimit sync.Once     // the warning that the limit is reached
	done    chan struct{}
	running sync.WaitGroup
}

func newWatches(t *tree, log *slog.Logger) *watches {
	return &watches{
		tree:  t,
		top:   procPath(t.fd),
		log:   log,
		dirs:  make(map[backing.Key]bool),
		subs:  make(map[*fanout.Queue]bool),
		poll:  poller{dirs: make(map[backing.Key]snapshot)},
		every: pollEvery,
		done:  make(chan struct{}),
	}
}

func (w *watches) path(key backing.Key) string {
	if key == "" {
		return w.top
	}
	return w.top + "/" + string(key)
}

// touch makes sure that the directory is watched. It is called before every
// use of a directory, and costs one look at a map.
func (w *watches) touch(dir backing.Key) {
	if dir.Under(backing.Own) || w.has(dir) {
		return
	}
	w.addMu.Lock()
	defer w.addMu.Unlock()
	w.join(dir)
}

func (w *watches) has(dir backing.Key) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dirs[dir]
}

// join adds dir and its ancestors, with addMu held. What is no directory, or
// is one no longer when it is watched, is left out.
func (w *watches) join(dir backing.Key) {
	if w.closed || w.has(dir) {
		return
	}
	if dir != "" {
		w.join(dir.Dir())
	}
	before := w.inode(dir)
	if before == nil {
		return
	}
	if w.add != nil {
		// fsnotify follows links in the path: the directory must be the one
		// that is there without any, before and after.
		w.watchDir(dir)
		if !before.sameFile(w.inode(dir)) {
			w.unwatchDir(dir)
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirs[dir] = true
}

func (w *watches) inode(dir backing.Key) *stat {
	fd, err := w.tree.open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil // whoever uses the directory gets the same error
	}
	defer unix.Close(fd)
	st, err := statFD(fd)
	if err != nil {
		return nil
	}
	return st
}

func (w *watches) watchDir(dir backing.Key) {
	err := w.add(w.path(dir))
	switch {
	case err == nil, errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return // a missing one is found out right after
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		w.noLimit.Do(func() {
			w.log.Warn("no inotify watches are left: directories are polled; fs.inotify.max_user_watches raises the limit", "err", err)
		})
	default:
		w.log.Warn("directory cannot be watched and is polled", "dir", string(dir), "err", err)
	}
	w.poll.add(w.tree, dir)
}

func (w *watches) unwatchDir(dir backing.Key) {
	w.poll.remove(dir)
	if w.notify != nil {
		// It fails where the directory is gone, and the watch with it.
		_ = w.notify.Remove(w.path(dir))
	}
}

// start begins to watch, with what was used so far.
func (w *watches) start() {
	notify, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		w.add = func(string) error { return err }
	} else {
		w.notify, w.add = notify, notify.Add
		w.running.Go(func() { w.readEvents(notify.Events) })
		w.running.Go(func() { w.readErrors(notify.Errors) })
	}
	w.running.Go(w.pollAll)
	for _, dir := range w.forget("") {
		w.join(dir)
	}
}

// forget takes dir and everything below it out of the set, with addMu held,
// and returns what was taken.
func (w *watches) forget(dir backing.Key) []backing.Key {
	w.mu.Lock()
	var gone []backing.Key
	for k := range w.dirs {
		if k.Under(dir) {
			gone = append(gone, k)
			delete(w.dirs, k)
		}
	}
	w.mu.Unlock()
	for _, k := range gone {
		w.unwatchDir(k)
	}
	return gone
}

func (w *watches) readEvents(events <-chan fsnotify.Event) {
	for ev := range events {
		rest, ok := strings.CutPrefix(ev.Name, w.top)
		key := backing.Key(strings.TrimPrefix(rest, "/"))
		if !ok || key.Under(backing.Own) {
			continue
		}
		if ev.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0 && w.has(key) {
			w.rejoin(key, ev.Has(fsnotify.Rename))
		}
		w.tell(backing.Event{Kind: backing.Changed, Key: key})
	}
}

// rejoin watches dir and what was watched below it anew, because another
// directory may be there now.
func (w *watches) rejoin(dir backing.Key, renamed bool) {
	w.addMu.Lock()
	defer w.addMu.Unlock()
	dirs := w.forget(dir)
	if renamed {
		for _, lost := range w.lost() {
			dirs = append(dirs, w.forget(lost)...)
		}
	}
	for _, d := range dirs {
		w.join(d)
	}
	for _, d := range dirs { // there was a moment without a watch
		w.tell(backing.Event{Kind: backing.Changed, Key: d})
	}
}

// lost returns the directories that fsnotify does not watch. One inode has
// one watch there: where a directory was watched by its new name before its
// rename was heard of, both were dropped together.
func (w *watches) lost() []backing.Key {
	if w.notify == nil {
		return nil
	}
	listed := make(map[string]bool)
	for _, path := range w.notify.WatchList() {
		listed[path] = true
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	var lost []backing.Key
	for dir := range w.dirs {
		if !listed[w.path(dir)] && !w.poll.has(dir) {
			lost = append(lost, dir)
		}
	}
	return lost
}

// readErrors has a goroutine of its own: fsnotify may report an error while it
// holds the lock that adding a watch needs.
func (w *watches) readErrors(errs <-chan error) {
	for err := range errs {
		if !errors.Is(err, fsnotify.ErrEventOverflow) {
			w.log.Warn("events of the store's directories were lost", "err", err)
		}
		w.addMu.Lock()
		for _, dir := range w.forget("") {
			w.join(dir)
		}
		w.addMu.Unlock()
		w.tell(backing.Event{Kind: backing.Resync})
	}
}

// close ends every subscription and waits until nothing runs any more.
func (w *watches) close() {
	w.addMu.Lock()
	if !w.closed {
		w.closed = true
		close(w.done)
	}
	notify := w.notify
	w.addMu.Unlock()
	if notify != nil {
		// Closing an inotify descriptor loses nothing.
		_ = notify.Close()
	}
	w.running.Wait()
}
