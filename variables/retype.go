package variables

import (
	"context"
	"errors"

	"ctxfs/backing"
)

// SetType changes what the content of a variable is taken for. What does not
// parse cannot become json: *codec.Refusal with EINVAL. backing.ErrNotFound.
func (v *Variables) SetType(ctx context.Context, scope Scope, key string, t Type) error {
	n, err := parseName(scope, key)
	if err == nil {
		_, err = ParseType(string(t))
	}
	if err == nil {
		err = v.setType(ctx, n, t)
	}
	if err == nil {
		v.watchers.Changed(n.path(), false)
	}
	return err
}

func (v *Variables) setType(ctx context.Context, n name, t Type) error {
	drafts := v.drafts.of(n)
	unlock := v.lock(n)
	err := v.retype(ctx, n, t)
	unlock()
	if errors.Is(err, backing.ErrNotFound) && len(drafts) > 0 {
		for _, d := range drafts {
			d.say(t, false)
		}
		return nil
	}
	return err
}

func (v *Variables) retype(ctx context.Context, n name, t Type) error {
	s, err := v.committed(ctx, n)
	if err != nil || s.typ == t {
		return err
	}
	if t == JSON {
		if err := v.checkMoved(ctx, s, n); err != nil {
			return err
		}
	}
	if s.cell != nil {
		return v.retypeCell(ctx, s, t)
	}
	defer v.known.forget(n)
	lab := label{Type: t}
	if t == Stream {
		lab.Stream, lab.Created = v.next(), s.created
	}
	return v.labels.set(ctx, n, lab, "")
}

// retypeCell changes the type of a session variable. A stream's content is a
// file, so that it takes a new value to become one, or to be one no more.
func (v *Variables) retypeCell(ctx context.Context, s state, t Type) error {
	if s.typ != Stream && t != Stream {
		v.memory.retype(s.cell, t)
		return nil
	}
	return v.again(ctx, s, value{name: s.name, typ: t, checked: true})
}

func (m *memory) retype(c *cell, t Type) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.typ, c.said = t, t != typeOfKey(c.name.key)
}

// again puts the content of s once more, in another way.
func (v *Variables) again(ctx context.Context, s state, val value) error {
	c, err := v.open(ctx, s.name, "")
	if err != nil {
		return err
	}
	defer c.Close()
	if val.content, err = v.copyOf(ctx, c); err != nil {
		return err
	}
	val.modTime = s.modTime
	_, err = v.put(ctx, val)
	return errors.Join(err, val.content.close())
}
