package variables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ctxfs/backing"
)

// SetOptions say where and as what a value is set (reference/4, SetOptions).
type SetOptions struct {
	Scope   Scope // "" is Global
	Type    Type  // "" keeps that of the variable; of a new one it follows from value and key
	Persist bool  // a session variable becomes a file, and stays one
}

// Set makes content the value of key: string, []byte, json.RawMessage and
// io.Reader as they are, everything else as JSON. A reader is never held in
// memory as a whole. Agent, global and persisted variables are on disk when
// it returns. *codec.Refusal for a bad key, scope or type, and with EINVAL for
// a json variable that does not parse; the old value stays then.
func (v *Variables) Set(ctx context.Context, key string, content any, o SetOptions) (Ref, error) {
	val, err := v.settle(key, o)
	if err != nil {
		return Ref{}, err
	}
	if val.content, err = v.encode(ctx, content, &val.typ); err != nil {
		return Ref{}, fmt.Errorf("set %s: %w", val.name.path(), err)
	}
	return v.set(ctx, val)
}

// settle checks key and options.
func (v *Variables) settle(key string, o SetOptions) (value, error) {
	if o.Scope == "" {
		o.Scope = Global
	}
	n, err := parseName(o.Scope, key)
	if err == nil && o.Type != "" {
		_, err = ParseType(string(o.Type))
	}
	return value{name: n, typ: o.Type, persist: o.Persist}, err
}

func (v *Variables) set(ctx context.Context, val value) (Ref, error) {
	unlock := v.lock(val.name)
	s, err := v.put(ctx, val)
	unlock()
	err = errors.Join(err, val.content.close())
	if err != nil {
		return Ref{}, err
	}
	v.watchers.Changed(val.name.path(), false)
	return s.ref(), nil
}

func (v *Variables) encode(ctx context.Context, content any, typ *Type) (source, error) {
	switch x := content.(type) {
	case string:
		return source{data: []byte(x)}, nil
	case []byte:
		return source{data: append([]byte(nil), x...)}, nil
	case json.RawMessage:
		if *typ == "" {
			*typ = JSON
		}
		return source{data: append([]byte(nil), x...)}, nil
	case io.Reader:
		return v.read(ctx, x)
	}
	text, err := json.Marshal(content)
	if *typ == "" {
		*typ = JSON
	}
	return source{data: text}, err
}

// Get returns the whole value of key; the caller may change it.
// backing.ErrNotFound.
func (v *Variables) Get(ctx context.Context, scope Scope, key string) ([]byte, error) {
	c, err := v.Open(ctx, scope, key)
	if err != nil {
		return nil, err
	}
	return readAll(c, scope, key)
}

func readAll(c backing.Content, scope Scope, key string) ([]byte, error) {
	p := make([]byte, c.Size())
	_, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), p)
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", scope, key, err)
	}
	return p, nil
}

// Open opens the value of key for ranged reads. What is open stays as it is,
// whatever becomes of the variable. backing.ErrNotFound.
func (v *Variables) Open(ctx context.Context, scope Scope, key string) (backing.Content, error) {
	n, err := parseName(scope, key)
	if err != nil {
		return nil, err
	}
	return v.open(ctx, n, "")
}

// Ref returns the handle of the current value of key. It reads no content and
// takes the same time for any size and any number of variables.
// backing.ErrNotFound.
func (v *Variables) Ref(ctx context.Context, scope Scope, key string) (Ref, error) {
	n := name{scope, key}
	if ref, ok := v.memory.ref(n); ok {
		return ref, nil
	}
	if s, ok := v.known.get(n); ok {
		return s.ref(), nil
	}
	s, err := v.Stat(ctx, scope, key)
	return s.Ref, err
}

// Stat returns what List says of one variable. backing.ErrNotFound.
func (v *Variables) Stat(ctx context.Context, scope Scope, key string) (Meta, error) {
	n, err := parseName(scope, key)
	if err != nil {
		return Meta{}, err
	}
	s, err := v.committed(ctx, n)
	return s.meta(), err
}

// Resolve returns the value that ref names. A ref whose variable has got
// another value since, or is gone, is a *codec.Refusal with ESTALE or ENOENT.
// Of a stream it is what the stream holds by now.
func (v *Variables) Resolve(ctx context.Context, ref Ref) ([]byte, error) {
	c, err := v.OpenRef(ctx, ref)
	if err != nil {
		return nil, err
	}
	return readAll(c, ref.Scope, ref.Key)
}

// OpenRef is Resolve for ranged reads, as Open.
func (v *Variables) OpenRef(ctx context.Context, ref Ref) (backing.Content, error) {
	n, err := parseName(ref.Scope, ref.Key)
	if err != nil {
		return nil, err
	}
	s, err := v.committed(ctx, n)
	if errors.Is(err, backing.ErrNotFound) {
		return nil, ref.Removed()
	}
	if err != nil {
		return nil, err
	}
	rev := s.rev
	if s.typ == Stream {
		rev = "" // it may have grown since
	}
	if s.id == ref.ID {
		c, err := v.open(ctx, n, rev)
		if !errors.Is(err, backing.ErrNotFound) {
			return c, err
		}
	}
	return nil, ref.Replaced()
}

// Delete removes the variable, durably. backing.ErrNotFound.
func (v *Variables) Delete(ctx context.Context, scope Scope, key string) error {
	n, err := parseName(scope, key)
	if err != nil {
		return err
	}
	defer v.lock(n)()
	if err := v.remove(ctx, n); err != nil {
		return err
	}
	v.watchers.Changed(n.path(), false)
	return nil
}

// remove takes n away; its stripe is held. Drafts of it lead nowhere then.
func (v *Variables) remove(ctx context.Context, n name) error {
	defer v.known.forget(n)
	if left, ok := v.memory.remove(n, nil); ok {
		v.offDisk(left)
		v.drafts.unlink(n)
		return nil
	}
	_, err := v.fileState(ctx, n) // a directory of that name is none of ours
	if err == nil {
		err = v.store.Remove(ctx, n.file(), "")
	}
	pending := v.drafts.unlink(n)
	if errors.Is(err, backing.ErrNotFound) && pending {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove variable %s: %w", n.path(), err)
	}
	return v.labels.drop(ctx, n)
}

// ClearSession ends a session: its variables are gone, but those that are
// persisted. It returns how many went.
func (v *Variables) ClearSession(ctx context.Context, scope Scope) (int, error) {
	if _, err := ParseScope(string(scope)); err != nil {
		return 0, err
	}
	keys, left := v.memory.removeScope(scope)
	for _, at := range left {
		v.offDisk(at)
	}
	for _, key := range keys {
		v.drafts.unlink(name{scope, key})
	}
	v.watchers.Changed(string(scope), true)
	return len(keys), ctx.Err()
}
