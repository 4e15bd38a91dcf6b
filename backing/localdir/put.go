package localdir

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Put replaces the object at key. It is on disk when Put returns nil. Where
// the last sync fails the object is already there, and the error wraps
// backing.ErrUnknown; a retry with the same Op syncs again.
func (s *Store) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if err := s.beginWrite(key); err != nil {
		return backing.Meta{}, told("put", key, err)
	}
	defer s.end()
	st, err := s.put(ctx, key, r, o)
	if err != nil {
		return backing.Meta{}, told("put", key, err)
	}
	return st.meta(key), nil
}

func (s *Store) put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (*stat, error) {
	if err := checkOp(o.Op); err != nil {
		return nil, err
	}
	dir, err := s.parent(key)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	p := &put{s: s, key: key, dir: dir, name: key.Name(), o: o}
	seen, err := p.look()
	if err != nil {
		return nil, err
	}
	if o.Op == "" { // otherwise it may be the retry of what made the conflict
		if err := p.admit(seen); err != nil {
			return nil, err
		}
	}
	if p.staged, err = s.stage(ctx, r); err != nil {
		return nil, err
	}
	st, err := p.commit(ctx, seen)
	if p.published {
		p.staged.published()
		return st, err
	}
	return st, errors.Join(err, p.staged.drop())
}

// put is one put on its way.
type put struct {
	s         *Store
	key       backing.Key
	dir       int    // where the object lies
	name      string // of the object in dir
	o         backing.PutOptions
	staged    *staged
	published bool
	synced    func() error // returns when the content is synced; nil until that has begun
}

// parallelSync is the size, in bytes, up to which the content's sync may go
// on under the key's lock.
const parallelSync = 1 << 20

// commit publishes the staged file. seen is what was at the key before.
func (p *put) commit(ctx context.Context, seen *stat) (*stat, error) {
	if err := p.staged.dress(seen, p.o); err != nil {
		return nil, err
	}
	st, err := statFD(p.staged.fd)
	if err != nil {
		return nil, err
	}
	defer p.endSync()
	if st.Size > parallelSync {
		if err := p.sync(); err != nil {
			return nil, err
		}
	} else if p.o.If == "" { // a put with a condition may yet lose, and then need none
		p.beginSync()
	}
	defer p.s.keys.lock(p.key)()
	for range maxTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cur, err := p.look()
		if err != nil {
			return nil, err
		}
		if done, err := p.isRetry(cur); done || err != nil {
			return cur, err
		}
		if err := p.admit(cur); err != nil {
			return nil, err
		}
		if err := p.adopt(seen, cur); err != nil {
			return nil, err
		}
		seen = cur
		again, err := p.replace(cur)
		if again {
			continue
		}
		if err != nil {
			return nil, err
		}
		return statFD(p.staged.fd)
	}
	return nil, errRestless
}

// beginSync starts to bring the staged content to the disk, once, beside what
// the caller does meanwhile.
func (p *put) beginSync() {
	if p.synced == nil {
		p.synced = async(p.syncContent)
	}
}

// sync brings the staged content to the disk, once. It does so itself where
// nothing else went on meanwhile: two goroutines that wake each other take a
// twentieth of a save.
func (p *put) sync() error {
	if p.synced == nil {
		err := p.syncContent()
		p.synced = func() error { return err }
	}
	return p.synced()
}

func (p *put) syncContent() error {
	sync := p.s.fsync
	if p.s.ordered {
		sync = p.s.writeOut
	}
	if err := sync(p.staged.fd); err != nil {
		return p.staged.lose(fmt.Errorf("sync content: %w", err))
	}
	return nil
}

// endSync waits until the descriptor is not used any more. Who needs the
// result has asked for it.
func (p *put) endSync() {
	if p.synced != nil {
		_ = p.synced()
	}
}

// maxTries bounds how often a put begins again because another program
// changed the object while it was being synced.
const maxTries = 100

var errRestless = errors.New("another program keeps changing the object")

// adopt dresses the staged file anew where the object's mode or owner is not
// what was seen when it was dressed.
func (p *put) adopt(seen, cur *stat) error {
	if cur == nil || seen != nil && seen.Mode == cur.Mode && seen.Uid == cur.Uid && seen.Gid == cur.Gid {
		return nil
	}
	if p.synced != nil {
		if err := p.synced(); err != nil {
			return err
		}
		p.synced = nil
	}
	return p.staged.dress(cur, p.o)
}

// replace keeps cur as a version and puts the staged file in its place. again
// says that cur is not current any more.
func (p *put) replace(cur *stat) (again bool, err error) {
	if p.o.KeepVersion && cur != nil {
		p.beginSync()
		k, err := p.s.keep(p.key, p.dir, p.name, cur)
		if errors.Is(err, unix.ENOENT) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		defer k.close()
		defer func() {
			if !p.published {
				k.undo(p.s, p.key)
			}
		}()
		if err := k.sync(p.s); err != nil {
			return false, err
		}
	}
	if err := p.sync(); err != nil {
		return false, err
	}
	now, err := p.look()
	if err != nil {
		return false, err
	}
	if !now.sameState(cur) {
		return true, nil
	}
	if p.o.Sure != nil && !p.o.Sure() {
		return false, backing.ErrWithdrawn
	}
	if p.s.ordered {
		return p.publishOrdered(cur)
	}
	return false, p.publish()
}

// publish renames, and syncs the directory.
func (p *put) publish() error {
	if err := p.rename(); err != nil {
		return err
	}
	p.published = true
	p.s.appends.replaced(p.key)
	return uncertain(p.s.fsync(p.dir))
}

// rename moves the staged file to the key in one step.
func (p *put) rename() error {
	from, err := p.s.tree.dir(stagingDir)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	if p.o.If != backing.Absent {
		return unix.Renameat(from, p.staged.name, p.dir, p.name)
	}
	err = unix.Renameat2(from, p.staged.name, p.dir, p.name, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// A file system that cannot do so can still link without replacing.
	if err := unix.Linkat(from, p.staged.name, p.dir, p.name, 0); err != nil {
		return err
	}
	// The object is there. A second name in staging goes with the next Open.
	_ = unix.Unlinkat(from, p.staged.name, 0)
	return nil
}

// look describes what is at the key, nil for nothing; only a regular file may
// be replaced.
func (p *put) look() (*stat, error) {
	st, err := lookAt(p.dir, p.name)
	if err != nil || st == nil {
		return nil, err
	}
	return st, st.wantRegular()
}

// async runs f at once in a goroutine. The function that it returns waits for
// f and returns its error, also when it is called again.
func async(f func() error) func() error {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = f()
	}()
	return func() error {
		<-done
		return err
	}
}
