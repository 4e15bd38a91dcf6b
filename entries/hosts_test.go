package entries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// host is the room of another host on the same store.
func (b *bench) host() *bench {
	b.t.Helper()
	other := &bench{t: b.t, dir: b.dir, store: b.store, journal: b.journal, dead: b.dead, clock: b.at()}
	var err error
	other.Entries, err = New(b.store, Options{Log: slog.New(slog.DiscardHandler), Journal: b.journal, Now: b.at})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := other.Entries.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return other
}

func TestOverwritesOfSeveralHostsAllHaveTheirLine(t *testing.T) {
	const writers, rounds = 9, 5
	b := newBench(t)
	hosts := []*bench{b, b.host(), b.host()}
	save := func(h *bench, agent, text string) error {
		f, _, err := h.Write(ctx, room.Caller{Agent: agent}, one, room.Create{New: true, Mode: 0o644})
		if err != nil {
			return err
		}
		d := f.(*draft)
		defer d.Close()
		if err := d.Truncate(0); err != nil {
			return err
		}
		if _, err := d.WriteAt([]byte(strings.ReplaceAll(valid, "Text.", text)), 0); err != nil {
			return err
		}
		return d.Commit(ctx)
	}
	if err := save(b, "alice", "The first."); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range rounds {
				agent := fmt.Sprintf("w%d", w)
				if err := save(hosts[w%len(hosts)], agent, fmt.Sprintf("Round %d of %s.", n, agent)); err != nil {
					t.Errorf("%s in round %d: %v", agent, n, err)
				}
			}
		})
	}
	all.Wait()
	cur, err := b.current(ctx, mustPlace(t, one))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, line := range codec.ChangelogLines(cur.content) {
		_, rest, _ := strings.Cut(line, "[")
		agent, _, _ := strings.Cut(rest, "]")
		of[agent]++
	}
	for w := range writers {
		if n := of[fmt.Sprintf("w%d", w)]; n != rounds {
			t.Errorf("w%d has %d lines, not %d", w, n, rounds)
		}
	}
	kept, err := b.store.Versions(ctx, one)
	if err != nil || len(kept) != writers*rounds {
		t.Errorf("%d versions are kept, not %d; %v", len(kept), writers*rounds, err)
	}
}

func mustPlace(t *testing.T, path string) place {
	t.Helper()
	p, err := placeOf(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestASaveOfWhatAnotherHostRemovesMakesItAnew(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	f, _, err := b.host().Write(ctx, room.Caller{Agent: "bob"}, one, room.Create{Mode: 0o644})
	b.ok(err)
	d := f.(*draft)
	b.ok(d.Truncate(0))
	text := strings.ReplaceAll(valid, "Text.", "New text.")
	_, err = d.WriteAt([]byte(text), 0)
	b.ok(err)
	m, err := b.store.Stat(ctx, one)
	b.ok(err)
	b.ok(b.store.Discard(ctx, []backing.Removal{{Key: one, Object: m.Revision}})[0])
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	cur, err := b.current(ctx, mustPlace(t, one))
	if err != nil || string(cur.content) != text {
		t.Errorf("it is %q, %v", cur.content, err)
	}
}

// behind is a store that has not yet heard of the entry one, which another host
// has put.
type behind struct{ backing.Store }

func (b behind) StatCached(ctx context.Context, key backing.Key) (backing.Meta, error) {
	if key == one {
		return backing.Meta{}, backing.ErrNotFound
	}
	return b.Stat(ctx, key)
}

func (b behind) ListCached(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	return b.List(ctx, dir, after, limit)
}

func TestAnEntryOfWhichAHostHasNotHeardIsNeitherMadeNorLost(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	late, err := New(behind{b.store}, Options{Log: slog.New(slog.DiscardHandler), Journal: b.journal, Now: b.at})
	b.ok(err)
	defer func() { b.ok(late.Close()) }()
	if _, _, err := late.Write(ctx, bob, one, room.Create{New: true, Exclusive: true, Mode: 0o644}); !errors.Is(err, backing.ErrExists) {
		t.Errorf("O_EXCL: %v", err)
	}
	f, _, err := late.Write(ctx, bob, one, room.Create{New: true, Mode: 0o644})
	b.ok(err)
	d := f.(*draft)
	_, err = d.WriteAt([]byte(strings.ReplaceAll(valid, "Text.", "Of bob.")), 0)
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	kept, err := b.store.Versions(ctx, one)
	if err != nil || len(kept) != 1 {
		t.Errorf("%d versions are kept, %v", len(kept), err)
	}
	cur, err := b.current(ctx, mustPlace(t, one))
	if err != nil || len(codec.ChangelogLines(cur.content)) != 1 || !strings.Contains(string(cur.content), "Of bob.") {
		t.Errorf("%s, %v", cur.content, err)
	}
}
