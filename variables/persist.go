package variables

import (
	"context"
	"errors"
	"syscall"

	"ctxfs/backing"
)

// SetPersist makes a session variable a file, or takes it back into memory.
// Agent and global variables are always files: to change that is a
// *codec.Refusal with EINVAL. backing.ErrNotFound.
func (v *Variables) SetPersist(ctx context.Context, scope Scope, key string, persist bool) error {
	n, err := parseName(scope, key)
	if err == nil {
		err = v.setPersist(ctx, n, persist)
	}
	if err == nil {
		v.watchers.Changed(n.path(), false)
	}
	return err
}

func (v *Variables) setPersist(ctx context.Context, n name, persist bool) error {
	drafts := v.drafts.of(n)
	if !n.scope.session() {
		if persist {
			return nil
		}
		return refuse(syscall.EINVAL, n.path(), "persist", "agent and global variables are always persisted",
			"keep it in a session's scope, vars/session:<id>")
	}
	unlock := v.lock(n)
	err := v.rehouse(ctx, n, persist)
	unlock()
	if errors.Is(err, backing.ErrNotFound) && len(drafts) > 0 {
		for _, d := range drafts {
			d.say("", persist)
		}
		return nil
	}
	return err
}

func (v *Variables) rehouse(ctx context.Context, n name, persist bool) error {
	s, err := v.committed(ctx, n)
	if err != nil || persist == (s.cell == nil) {
		return err
	}
	if persist {
		return v.again(ctx, s, value{name: n, persist: true, checked: true, mode: s.mode, by: s.owner()})
	}
	return v.toMemory(ctx, s)
}

// toMemory takes a persisted session variable back into memory.
func (v *Variables) toMemory(ctx context.Context, s state) error {
	c, err := v.open(ctx, s.name, "")
	if err != nil {
		return err
	}
	defer c.Close()
	content, err := v.copyOf(ctx, c)
	if err != nil {
		return err
	}
	defer v.known.forget(s.name)
	val := value{name: s.name, content: content, modTime: s.modTime}
	_, err = v.putMemory(ctx, val, s.typ, s.said, s)
	if err = errors.Join(err, content.close()); err != nil {
		return err
	}
	if err := v.store.Remove(ctx, s.name.file(), ""); err != nil {
		return err
	}
	return v.labels.drop(ctx, s.name)
}

// say notes what the writer's variable will be.
func (d *draft) say(t Type, persist bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t != "" {
		d.typ = t
		d.json = t == JSON
	}
	d.persist = d.persist || persist
}
