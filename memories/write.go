package memories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"ctxfs/backing"
)

// writeText makes t the context document of m, and its snapshot; before is what
// earlier texts that t replaces unwritten changed of its metadata. The snapshot
// is prepared first and published last, so that after a crash in between
// repair can finish it: an entry never carries an older snapshot than the
// document beside it.
func (s *Memories) writeText(ctx context.Context, m *memory, t *text, before backing.AttrChange) error {
	err := s.tryText(ctx, m, t, before)
	if errors.Is(err, backing.ErrNotFound) {
		// Another program removed the directory.
		if err = s.makeDirs(ctx, m.name); err == nil {
			err = s.tryText(ctx, m, t, before)
		}
	}
	if err != nil {
		return fmt.Errorf("write the context of memory %s: %w", m.name, err)
	}
	return nil
}

func (s *Memories) tryText(ctx context.Context, m *memory, t *text, before backing.AttrChange) error {
	doc, shot := s.key(m.name, contextFile), s.key(m.name, snapshotFile)
	attr := merged(before, t.attr)
	looks, err := s.dress(ctx, doc, attr)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, shot, snapshotOf(t.content), backing.AttrChange{Mode: looks.Mode, UID: looks.UID, GID: looks.GID}); err != nil {
		return err
	}
	if attr.ModTime == nil {
		attr.ModTime = &t.at
	}
	if err := s.prepare(ctx, doc, []byte(t.content), attr); err != nil {
		return err
	}
	meta, err := s.publish(ctx, doc)
	if err != nil {
		return err
	}
	if _, err := s.publish(ctx, shot); err != nil {
		return err
	}
	m.written(t, meta)
	s.changed(m.name + "/" + snapshotFile)
	if backing.IsShared(s.store) {
		return s.agree(ctx, m.name)
	}
	return nil
}

// agree sees to it that the snapshot of a memory is that of its document, where
// other hosts write both. Everybody looks after publishing a snapshot, and so
// who publishes the last one finds what to do.
func (s *Memories) agree(ctx context.Context, memory string) error {
	shot := s.key(memory, snapshotFile)
	for {
		content, err := s.readAll(ctx, s.key(memory, contextFile))
		if errors.Is(err, backing.ErrNotFound) {
			return nil // another host removed it
		}
		if err != nil {
			return err
		}
		want := snapshotOf(string(content))
		is, err := s.readAll(ctx, shot)
		if err == nil && bytes.Equal(is, want) {
			return nil
		}
		if err == nil || errors.Is(err, backing.ErrNotFound) {
			err = s.replace(ctx, shot, want)
		}
		if err != nil && !errors.Is(err, backing.ErrNotFound) {
			return err
		}
	}
}

// replace makes content the file at key by the write algorithm of
// reference/3: write path.tmp, fsync it, rename it, fsync the directory.
func (s *Memories) replace(ctx context.Context, key backing.Key, content []byte) error {
	if err := s.prepare(ctx, key, content, backing.AttrChange{}); err != nil {
		return err
	}
	_, err := s.publish(ctx, key)
	return err
}

// prepare is the first half: content is in path.tmp, and fsynced. A store
// that is no local directory does it in one put.
func (s *Memories) prepare(ctx context.Context, key backing.Key, content []byte, attr backing.AttrChange) error {
	if s.files == nil {
		_, err := s.store.Put(ctx, key, bytes.NewReader(content), backing.PutOptions{})
		return err
	}
	attr, err := s.dress(ctx, key, attr)
	if err != nil {
		return err
	}
	f, err := s.files.OpenFile(ctx, key+tmpEnd, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, *attr.Mode)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = s.apply(ctx, f, key+tmpEnd, attr)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// dress is what the file at key shall look like: as it does, but for what
// attr changes.
func (s *Memories) dress(ctx context.Context, key backing.Key, attr backing.AttrChange) (backing.AttrChange, error) {
	old, err := s.store.Stat(ctx, key)
	if errors.Is(err, backing.ErrNotFound) {
		if attr.Mode == nil {
			mode := fs.FileMode(0o644)
			attr.Mode = &mode
		}
		return attr, nil
	}
	if err != nil {
		return attr, err
	}
	if attr.Mode == nil {
		attr.Mode = &old.Mode
	}
	if attr.UID == nil {
		attr.UID = &old.UID
	}
	if attr.GID == nil {
		attr.GID = &old.GID
	}
	return attr, nil
}

// apply gives the file what differs from attr. That a daemon without rights
// cannot give files away is no failure of the write.
func (s *Memories) apply(ctx context.Context, f backing.File, key backing.Key, attr backing.AttrChange) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if *attr.Mode == is.Mode {
		attr.Mode = nil
	}
	if attr.UID != nil && *attr.UID == is.UID && (attr.GID == nil || *attr.GID == is.GID) {
		attr.UID, attr.GID = nil, nil
	}
	if attr.UID != nil {
		owner := backing.AttrChange{UID: attr.UID, GID: attr.GID}
		if _, err := s.store.SetAttr(ctx, key, owner); err != nil {
			s.o.Log.Warn("a file keeps the daemon's owner", "path", key, "err", err)
		}
		attr.UID, attr.GID = nil, nil
	}
	if attr == (backing.AttrChange{}) {
		return nil
	}
	_, err = s.store.SetAttr(ctx, key, attr)
	return err
}

// publish is the second half: the rename, which syncs the directory.
func (s *Memories) publish(ctx context.Context, key backing.Key) (backing.Meta, error) {
	if s.files != nil {
		if err := s.files.Rename(ctx, key+tmpEnd, key, 0); err != nil {
			return backing.Meta{}, err
		}
	}
	return s.store.Stat(ctx, key)
}

// listPage is how many names are asked of a store at once.
const listPage = 1000

// repair finishes, or takes back, the put that a crash left half done in each
// memory: a snapshot that was prepared is published if the document that it
// belongs to was.
func (s *Memories) repair(ctx context.Context) error {
	if s.files == nil {
		return nil
	}
	return s.each(ctx, s.top, func(d backing.Meta) error {
		if !d.Dir || CheckMemory(d.Key.Name()) != nil {
			return nil
		}
		doc, shot := d.Key.Join(contextFile), d.Key.Join(snapshotFile)
		prepared, err := s.readAll(ctx, shot+tmpEnd)
		if err == nil {
			err = s.repairSnapshot(ctx, doc, shot, prepared)
		}
		if err == nil || errors.Is(err, backing.ErrNotFound) {
			err = s.files.Unlink(ctx, doc+tmpEnd)
		}
		if err != nil && !errors.Is(err, backing.ErrNotFound) {
			return fmt.Errorf("repair memory %s: %w", d.Key.Name(), err)
		}
		return nil
	})
}

func (s *Memories) repairSnapshot(ctx context.Context, doc, shot backing.Key, prepared []byte) error {
	content, err := s.readAll(ctx, doc)
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return err
	}
	if err == nil && bytes.Equal(prepared, snapshotOf(string(content))) {
		if err := s.files.Rename(ctx, shot+tmpEnd, shot, 0); err != nil {
			return err
		}
		// Where half a rename was on the disk, both are names of one file, and
		// rename(2) leaves both.
	}
	return s.files.Unlink(ctx, shot+tmpEnd)
}

// each calls f for every member of dir; a missing dir has none.
func (s *Memories) each(ctx context.Context, dir backing.Key, f func(backing.Meta) error) error {
	after := ""
	for {
		page, err := s.store.List(ctx, dir, after, listPage)
		if errors.Is(err, backing.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", dir, err)
		}
		for _, m := range page {
			if err := f(m); err != nil {
				return err
			}
			after = m.Key.Name()
		}
		if len(page) < listPage {
			return nil
		}
	}
}
