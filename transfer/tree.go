package transfer

import (
	"context"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// directory makes the destination's directory, and all in it, what s is.
func (p *pass) directory(ctx context.Context, s backing.Meta, d *backing.Meta) error {
	if d == nil {
		// Until all is in it who copies must be able to write it.
		if _, err := p.dst.MakeDir(ctx, s.Key, s.Mode|0o700); err != nil {
			return p.disturbed(err)
		}
		p.changed(&p.stats.Dirs)
	}
	p.members(ctx, s.Key, nil)
	if ctx.Err() != nil {
		return nil // whoever ended it has said why
	}
	now, err := p.dst.Stat(ctx, s.Key)
	if err != nil {
		return p.disturbed(err)
	}
	if _, err := p.dress(ctx, s, now); err != nil {
		return err
	}
	// A directory's time moves with its members in some stores and not in
	// others: it is taken along, and no difference.
	if !now.ModTime.Equal(s.ModTime) {
		_, err = p.dst.SetAttr(ctx, s.Key, backing.AttrChange{ModTime: &s.ModTime})
	}
	return err
}

// link copies a symbolic link between stores that have them.
func (p *pass) link(ctx context.Context, s backing.Meta, d *backing.Meta) error {
	from, can := p.src.(backing.Files)
	to, could := p.dst.(backing.Files)
	if !can || !could {
		p.leftOut(s.Key, "it is a symbolic link, which the destination cannot have")
		return nil
	}
	p.looking(s.Key)
	target, err := from.Readlink(ctx, s.Key)
	if errors.Is(err, backing.ErrNotFound) {
		p.changed(nil)
		return nil
	}
	if err != nil {
		return err
	}
	if d != nil {
		old, err := to.Readlink(ctx, s.Key)
		if err != nil {
			return p.disturbed(err)
		}
		if old == target {
			p.there()
			return nil
		}
		if err := to.Unlink(ctx, s.Key); err != nil {
			return p.disturbed(err)
		}
	}
	if err := to.Symlink(ctx, target, s.Key); err != nil {
		return p.disturbed(err)
	}
	p.changed(&p.stats.Objects)
	return nil
}

// superfluous removes what only the destination has, or counts it.
func (p *pass) superfluous(ctx context.Context, d backing.Meta) error {
	if !p.o.Delete {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.extra.Count == 0 {
			p.extra.First = d.Key
		}
		p.extra.Count++
		return nil
	}
	err := p.remove(ctx, d)
	if err != nil {
		return fmt.Errorf("remove what the source does not have: %w", err)
	}
	return nil
}

func (p *pass) remove(ctx context.Context, d backing.Meta) (err error) {
	switch {
	case d.Dir:
		err = each(ctx, p.dst, d.Key, func(m backing.Meta) error { return p.remove(ctx, m) })
		if err == nil {
			err = p.dst.RemoveDir(ctx, d.Key)
		}
	case d.Link || d.Special:
		files, ok := p.dst.(backing.Files)
		if !ok {
			return fmt.Errorf("%s: %w", d.Key, backing.ErrNotRegular)
		}
		err = files.Unlink(ctx, d.Key)
	default:
		err = p.dst.Remove(ctx, d.Key, d.Revision)
	}
	if err == nil {
		p.changed(&p.stats.Removed)
	}
	return err
}
