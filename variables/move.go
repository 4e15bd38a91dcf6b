package variables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// Promote moves the variable to another scope (reference/4, Scoping), as
// rename(2) does: what is there is replaced. It returns the new handle; refs
// of the old place name a removed variable. backing.ErrNotFound.
func (v *Variables) Promote(ctx context.Context, from Scope, key string, to Scope) (Ref, error) {
	old, err := parseName(from, key)
	if err != nil {
		return Ref{}, err
	}
	next, err := parseName(to, key)
	if err != nil {
		return Ref{}, err
	}
	if err := v.move(ctx, old, next, 0); err != nil {
		return Ref{}, err
	}
	v.watchers.Changed(old.path(), false)
	v.watchers.Changed(next.path(), false)
	s, err := v.committed(ctx, next)
	return s.ref(), err
}

// move gives the variable another name. flags are those of renameat2(2).
func (v *Variables) move(ctx context.Context, from, to name, flags uint) error {
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return syscall.EINVAL
	}
	if err := v.drafts.commit(ctx, from); err != nil {
		return err
	}
	defer v.lock(from, to)()
	src, err := v.committed(ctx, from)
	if err != nil {
		return err
	}
	dst, err := v.committed(ctx, to)
	switch {
	case err == nil && flags&unix.RENAME_NOREPLACE != 0:
		return backing.ErrExists
	case err != nil && !errors.Is(err, backing.ErrNotFound):
		return err
	case from == to:
		return nil
	}
	typ, said := src.typ, src.said
	if !said {
		// A temporary file that an editor renames takes the type of what
		// it replaces.
		if typ = typeOfKey(to.key); dst.said {
			typ, said = dst.typ, true
		}
	}
	if typ == JSON && src.typ != JSON {
		if err := v.checkMoved(ctx, src, to); err != nil {
			return err
		}
	}
	if err := v.carry(ctx, src, dst, to, typ, said); err != nil {
		return fmt.Errorf("move %s to %s: %w", from.path(), to.path(), err)
	}
	v.drafts.move(from, to)
	return nil
}

func (v *Variables) checkMoved(ctx context.Context, src state, to name) error {
	c, err := v.open(ctx, src.name, "")
	if err != nil {
		return err
	}
	defer c.Close()
	return jsonRefusal(to, checkJSON(io.NewSectionReader(c, 0, c.Size())))
}

// carry moves the content in the cheapest way that the two places allow.
func (v *Variables) carry(ctx context.Context, src, dst state, to name, typ Type, said bool) error {
	defer v.known.forget(src.name, to)
	destInMemory := dst.cell != nil || dst.rev == "" && to.scope.session()
	persisted := src.cell == nil && src.name.scope.session()
	switch {
	case src.cell != nil && destInMemory:
		v.carryCell(src.cell, to, typ, said)
		return nil
	case src.cell == nil && (!destInMemory || persisted) && v.files != nil:
		return v.carryFile(ctx, src, dst, to, typ, said)
	}
	return v.carryCopy(ctx, src, to, typ)
}

// carryCell moves a session variable in memory.
func (v *Variables) carryCell(c *cell, to name, typ Type, said bool) {
	next := backing.Revision(v.next())
	moved, left := v.memory.rename(c, to, func(n *cell) {
		n.typ, n.said, n.rev, n.id = typ, said, next, valueID(to, string(next))
	})
	if moved {
		v.offDisk(left)
	}
}

// rename makes a copy of c, changed by f, the value of to, and removes c.
func (m *memory) rename(c *cell, to name, f func(*cell)) (moved bool, left backing.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.get(c.name) != c {
		return false, ""
	}
	n := &cell{name: to, size: c.size, created: c.created, data: c.data, disk: c.disk,
		modTime: c.modTime, mode: c.mode, uid: c.uid, gid: c.gid}
	f(n)
	s := m.shelves[c.name.scope]
	delete(s.cells, c.name.key)
	s.sorted = nil
	if len(s.cells) == 0 {
		delete(m.shelves, c.name.scope)
	}
	m.drop(c)
	if n.disk == "" {
		m.bytes += int64(len(n.data))
	}
	return true, m.insertLocked(n)
}

// carryFile renames a file.
func (v *Variables) carryFile(ctx context.Context, src, dst state, to name, typ Type, said bool) error {
	before := dst.rev
	if dst.cell != nil {
		before = ""
	}
	if err := v.label(ctx, to, typ, said, dst.said && dst.cell == nil, before); err != nil {
		return err
	}
	err := v.files.Rename(ctx, src.name.file(), to.file(), 0)
	if errors.Is(err, backing.ErrNotFound) {
		if err := v.makeScope(ctx, to.scope); err != nil {
			return err
		}
		err = v.files.Rename(ctx, src.name.file(), to.file(), 0)
	}
	if err != nil {
		return err
	}
	if dst.cell != nil {
		left, _ := v.memory.remove(to, dst.cell)
		v.offDisk(left)
	}
	v.dropLabel(ctx, src.name)
	return nil
}

// dropLabel forgets the type of what was moved away. Where that fails the move
// has happened all the same: the next variable of the name drops it.
func (v *Variables) dropLabel(ctx context.Context, n name) {
	if err := v.labels.drop(ctx, n); err != nil {
		v.o.Log.Warn("the type of a moved variable is still noted", "variable", n.path(), "err", err)
	}
}

// carryCopy moves between memory and files: the new place is whole before the
// old one goes, so that after a crash both are there.
func (v *Variables) carryCopy(ctx context.Context, src state, to name, typ Type) error {
	c, err := v.open(ctx, src.name, "")
	if err != nil {
		return err
	}
	defer c.Close()
	content, err := v.copyOf(ctx, c)
	if err != nil {
		return err
	}
	_, err = v.put(ctx, value{name: to, content: content, typ: typ, checked: true, mode: src.mode, modTime: src.modTime, by: src.owner()})
	if err = errors.Join(err, content.close()); err != nil {
		return err
	}
	if src.cell != nil {
		left, _ := v.memory.remove(src.name, src.cell)
		v.offDisk(left)
		return nil
	}
	if err := v.store.Remove(ctx, src.name.file(), ""); err != nil {
		return err
	}
	v.dropLabel(ctx, src.name)
	return nil
}
