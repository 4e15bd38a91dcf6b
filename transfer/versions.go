package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"ctxfs/backing"
)

// versions makes the versions that the destination keeps those of the source.
func (p *pass) versions(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	for _, s := range []Store{p.src, p.dst} {
		var wg sync.WaitGroup
		err := s.Versioned(ctx, func(key backing.Key) error {
			top, _, _ := strings.Cut(string(key), "/")
			if err := context.Cause(ctx); err != nil || !p.o.Part(backing.Key(top)) {
				return err
			}
			p.spawn(&wg, func() { p.fail(p.versionsOf(ctx, key, s == p.dst)) })
			return nil
		})
		wg.Wait()
		p.fail(err)
	}
}

// versionsOf copies the versions of key. With onlyExtra it looks whether the
// source has any, the rest having been done.
func (p *pass) versionsOf(ctx context.Context, key backing.Key, onlyExtra bool) error {
	from, err := p.src.Versions(ctx, key)
	if err != nil || onlyExtra && len(from) > 0 {
		return err
	}
	to, err := p.dst.Versions(ctx, key)
	if err != nil {
		return err
	}
	there := make(map[int]backing.Version, len(to))
	for _, v := range to {
		there[v.N] = v
	}
	for _, v := range from {
		d, ok := there[v.N]
		delete(there, v.N)
		if err := p.version(ctx, key, v, d, ok); err != nil {
			return err
		}
	}
	for _, v := range to {
		if _, extra := there[v.N]; extra {
			if _, err := p.superfluousVersion(ctx, key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// version makes version s of key one of the destination, which has d under
// its number where there says so.
func (p *pass) version(ctx context.Context, key backing.Key, s, d backing.Version, there bool) error {
	p.looking(key)
	if there {
		same, err := p.sameVersion(ctx, key, s, d)
		if err != nil {
			return err
		}
		if same {
			p.there()
			return nil
		}
		if gone, err := p.superfluousVersion(ctx, key, d); err != nil || !gone {
			return err
		}
	}
	c, err := p.src.OpenVersion(ctx, key, s.N)
	if errors.Is(err, backing.ErrNotFound) {
		p.changed(nil)
		return nil
	}
	if err != nil {
		return err
	}
	err = p.dst.RestoreVersion(ctx, key, s, p.reading(c))
	if err = errors.Join(p.disturbed(err), c.Close()); err != nil {
		return err
	}
	p.copied(&p.stats.Versions, s.Size)
	return nil
}

func (p *pass) sameVersion(ctx context.Context, key backing.Key, s, d backing.Version) (bool, error) {
	if s.Size != d.Size || !s.ModTime.Equal(d.ModTime) || s.Mode != 0 && s.Mode != d.Mode || p.o.Owners && (s.UID != d.UID || s.GID != d.GID) {
		return false, nil
	}
	if p.first {
		return true, nil
	}
	from, err := p.src.OpenVersion(ctx, key, s.N)
	if errors.Is(err, backing.ErrNotFound) {
		p.changed(nil)
		return true, nil // removed since it was listed: the next pass sees to it
	}
	if err != nil {
		return false, err
	}
	to, err := p.dst.OpenVersion(ctx, key, d.N)
	if err != nil {
		return false, errors.Join(p.disturbed(err), from.Close())
	}
	same, err := p.sameBytes(ctx, from, to)
	if err != nil {
		err = fmt.Errorf("compare version %d of %s: %w", s.N, key, err)
	}
	return same, errors.Join(err, from.Close(), to.Close())
}

// superfluousVersion removes a version that only the destination has, or
// counts it.
func (p *pass) superfluousVersion(ctx context.Context, key backing.Key, v backing.Version) (gone bool, err error) {
	if !p.o.Delete {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.extra.Count == 0 {
			p.extra.First = backing.Key(fmt.Sprintf("version %d of %s", v.N, key))
		}
		p.extra.Count++
		return false, nil
	}
	err = p.dst.Discard(ctx, []backing.Removal{{Key: key, Versions: []backing.Version{v}}})[0]
	if err == nil {
		p.changed(&p.stats.Removed)
	}
	return err == nil, err
}
