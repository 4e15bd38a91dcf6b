package localdir

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Options say how a directory is opened.
type Options struct {
	ReadOnly bool         // no lock, no write; every write is backing.ErrReadOnly
	Log      *slog.Logger // what nobody is there to return an error to; nil is slog.Default
}

// Store is a backing.Store and backing.Files in a local directory. Safe for
// concurrent use; one process writes at a time, see [LockedError].
type Store struct {
	tree     *tree
	readOnly bool
	log      *slog.Logger
	lockFD   int                // -1 without a lock
	fsync    func(fd int) error // fsync(2), that of every write but the making of the top
	writeOut func(fd int) error // the file's bytes reach the device, see ordered.go
	ordered  bool               // the file system keeps the order of names, see ordered.go

	life   sync.RWMutex // guards closed and the descriptors above; held for reading by every call
	closed bool

	keys     keyLocks
	listings listings
	numbers  numbers
	appends  appends
	watches  *watches
}

var (
	_ backing.Store     = (*Store)(nil)
	_ backing.Files     = (*Store)(nil)
	_ backing.Versioned = (*Store)(nil)
)

// Open opens the store in dir, which is made with its parents where it is
// missing (not with ReadOnly), and takes its lock: *LockedError where
// another process has it. On a read-only file system the store is read-only.
func Open(dir string, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{readOnly: o.ReadOnly, log: o.Log, lockFD: -1, fsync: fsync, writeOut: writeOut}
	if err := s.open(dir); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	s.watches = newWatches(s.tree, o.Log)
	return s, nil
}

func (s *Store) open(dir string) error {
	if !s.readOnly {
		if err := makeTop(dir); err != nil {
			return err
		}
	}
	fd, err := openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	s.tree = newTree(fd)
	s.ordered = keepsOrder(fd)
	err = s.takeOver(dir)
	if err == unix.EROFS {
		s.readOnly = true
		err = nil
	}
	if err == nil && s.readOnly {
		_, err = s.readLayout()
	}
	if err != nil {
		s.closeDescriptors()
	}
	return err
}

// takeOver makes the store this process's: lock, layout, staging.
func (s *Store) takeOver(dir string) error {
	if s.readOnly {
		return nil
	}
	for _, d := range []backing.Key{backing.Own, stagingDir, versionsDir} {
		if err := s.makeOwnDir(d); err != nil {
			return fmt.Errorf("make %s: %w", d, err)
		}
	}
	if err := s.takeLock(dir); err != nil {
		return err
	}
	if err := s.settleLayout(); err != nil {
		return err
	}
	return s.emptyStaging()
}

// ReadOnly reports whether every write is backing.ErrReadOnly.
func (s *Store) ReadOnly() bool { return s.readOnly }

// Close waits for running calls, ends every Watch and gives up the lock.
// Contents and files that are open stay usable.
func (s *Store) Close() error {
	s.watches.close()
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return errClosed
	}
	s.closed = true
	s.closeDescriptors()
	return nil
}

func (s *Store) closeDescriptors() {
	if s.lockFD >= 0 {
		// A program that is being started holds a copy of the descriptor
		// until its exec, and with it the lock. Unlocking cannot fail.
		_ = unix.Flock(s.lockFD, unix.LOCK_UN)
		unix.Close(s.lockFD)
	}
	unix.Close(s.tree.fd)
}

// begin opens a call that reads key; each that returns nil is followed by end.
func (s *Store) begin(key backing.Key) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return errClosed
	}
	return nil
}

// beginWrite is begin for a call that changes what is at key.
func (s *Store) beginWrite(key backing.Key) error {
	if err := checkWritable(key); err != nil {
		return err
	}
	if s.readOnly {
		return backing.ErrReadOnly
	}
	return s.begin(key)
}

func checkWritable(key backing.Key) error {
	if key == "" || key == backing.Own {
		return fmt.Errorf("%w: %q cannot be written", backing.ErrBadKey, key)
	}
	return checkKey(key)
}

func (s *Store) end() { s.life.RUnlock() }

const (
	stagingDir  backing.Key = backing.Own + "/staging"
	versionsDir backing.Key = backing.Own + "/versions"
	lockFile    backing.Key = backing.Own + "/lock"
	layoutFile  backing.Key = backing.Own + "/layout"
)

// checkKey also refuses what the store keeps for itself below backing.Own.
func checkKey(key backing.Key) error {
	if _, err := backing.ParseKey(string(key)); err != nil {
		return err
	}
	rest, own := strings.CutPrefix(string(key), backing.Own+"/")
	if !own {
		return nil
	}
	if first, _, _ := strings.Cut(rest, "/"); private(first) {
		return fmt.Errorf("%w: %q belongs to the store itself", backing.ErrBadKey, key)
	}
	return nil
}

// private reports whether name, directly in backing.Own, is the store's own.
func private(name string) bool {
	switch backing.Own + "/" + backing.Key(name) {
	case stagingDir, versionsDir, lockFile, layoutFile:
		return true
	}
	return false
}
