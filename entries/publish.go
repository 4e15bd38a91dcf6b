package entries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

const (
	// conflictTries bounds how often a commit merges again because another
	// program, or another host, changed the store under it.
	conflictTries = 256
	// patientTries is how many of them follow one another at once; from then
	// on each waits, longer and longer and some time up to conflictWait.
	patientTries = 4
	conflictWait = 50 * time.Millisecond
)

// yield waits before the next try of who has lost that many: hosts that take
// turns at one entry must not all come back at the same time.
func yield(tries int) {
	if tries < patientTries {
		return
	}
	most := min(time.Millisecond<<min(tries-patientTries, 8), conflictWait)
	time.Sleep(rand.N(most))
}

// save is a content on its way to become an entry's next version.
type save struct {
	p       place
	by      room.Caller
	content []byte
	mode    fs.FileMode        // of a new entry
	file    *room.Info         // that was renamed onto the entry; may be nil
	attr    backing.AttrChange // what its writer set meanwhile
	// began says, under the path's lock, the revision that the writer began
	// from and its own last commit; nil where nobody knows.
	began func() (backing.Revision, *published)
	// note is told, under the path's lock, what the save came to; may be nil.
	note func(published)
	// needsPending: a new entry whose pending name is gone was removed.
	needsPending bool
	// only is the revision that the save is for; empty is any. Where it is
	// not current any more the save is errMoved.
	only backing.Revision
	// free: the name must not be taken (RENAME_NOREPLACE).
	free bool
	// sure is asked before anything happens; nil is yes.
	sure func() bool
}

// owner is whose a new entry is.
func (s save) owner() room.Caller {
	if s.file != nil {
		return s.by.Of(*s.file)
	}
	return s.by
}

// published is what a save came to.
type published struct {
	made    bool // a new version; false where nothing had changed
	meta    backing.Meta
	before  []byte // what it replaced, which an amendment replaces again
	existed bool
	at      time.Time
	over    string
	marks   []mark // entries that it supersedes
}

// publish validates s and makes it the entry's next version, durably, with
// everything that follows from it. It is not interrupted half way.
func (e *Entries) publish(ctx context.Context, s save) error {
	ctx = context.WithoutCancel(ctx)
	done, err := e.publishLocked(ctx, s)
	if err != nil {
		return err
	}
	e.finishMarks(ctx, done.marks)
	e.removeRejects(ctx, s.p)
	e.changed(s.p.path)
	return nil
}

func (e *Entries) publishLocked(ctx context.Context, s save) (published, error) {
	lock := e.paths.lock
	if s.file != nil {
		lock = e.paths.lockFirst
	}
	defer lock(s.p.path)()
	for tries := range conflictTries {
		yield(tries)
		var cur version
		// What is pending is most likely still new: the put says so if not.
		if _, isPending := e.pendingInfo(s.p.path); tries > 0 || !s.needsPending || !isPending {
			var err error
			if cur, err = e.current(ctx, s.p); err != nil {
				return published{}, fmt.Errorf("commit %s: %w", s.p.path, err)
			}
		}
		if err := e.checkTarget(s, cur); err != nil {
			return published{}, err
		}
		done, err := e.attempt(ctx, s, cur)
		if errors.Is(err, backing.ErrConflict) || errors.Is(err, backing.ErrExists) {
			continue
		}
		if err == nil {
			e.dropPending(s.p.path)
			e.show(s.p.path)
			if s.note != nil {
				s.note(done)
			}
		}
		return done, withPath(err, s.p.path)
	}
	return published{}, fmt.Errorf("commit %s: %w", s.p.path, backing.ErrConflict)
}

// errMoved: the entry is not any more what the save is for.
var errMoved = errors.New("somebody else has changed the entry meanwhile")

// checkTarget looks at what the name stands for now.
func (e *Entries) checkTarget(s save, cur version) error {
	if s.only != "" && cur.meta.Revision != s.only {
		return errMoved
	}
	_, isPending := e.pendingInfo(s.p.path)
	if s.free && (isPending || cur.exists && !e.hidden(s.p.path)) {
		return backing.ErrExists
	}
	if s.needsPending && !cur.exists && !isPending {
		return &codec.Refusal{Errno: syscall.ENOENT, Path: s.p.path,
			Reason: "the new file was removed while it was being written", Fix: "write it again"}
	}
	return nil
}
