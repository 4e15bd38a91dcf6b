package housekeeping

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ctxfs/archive"
	"ctxfs/backing"
	"ctxfs/entries"
)

// ofHosts is a store that other hosts write too, one of which does something
// when a version is opened.
type ofHosts struct {
	*disturbed
	onVersion func()
}

func (*ofHosts) Shared() {}

func (s *ofHosts) OpenVersion(ctx context.Context, key backing.Key, n int) (backing.Content, error) {
	if s.onVersion != nil {
		s.onVersion()
	}
	return s.disturbed.OpenVersion(ctx, key, n)
}

// keeper is that of another host on the store of b.
func (b *bench) keeper() (*Keeper, *ofHosts) {
	b.t.Helper()
	s := &ofHosts{disturbed: &disturbed{Store: b.store.Store}}
	e, err := entries.New(s, entries.Options{Log: quiet, Now: b.Now})
	b.ok(err)
	b.t.Cleanup(func() { b.ok(e.Close()) })
	return &Keeper{Store: s, Entries: e, Now: b.Now}, s
}

func TestHostsThatCleanAtOnceSucceedAndLoseNothing(t *testing.T) {
	for _, when := range []string{"all was looked at", "a version is read", "the archive is put"} {
		t.Run(when, func(t *testing.T) {
			b := newBench(t)
			before := three(b)
			one, s := b.keeper()
			two, _ := b.keeper()
			var once sync.Once
			other := func() {
				once.Do(func() { b.ok(two.Do(t.Context(), clean, func(Event) error { return nil }, nil)) })
			}
			switch when {
			case "a version is read":
				s.onVersion = other
			case "the archive is put":
				s.onPut = func(text []byte) []byte { other(); return text }
			}
			b.ok(one.Do(t.Context(), clean, func(e Event) error {
				if p := e.Progress; when == "all was looked at" && p != nil && p.Stage == "looking" && p.Done == p.Of {
					other()
				}
				return nil
			}, nil))
			b.want(map[string]string{})
			wantArchived(b, before)
			if _, err := os.Stat(filepath.Join(b.dir, "alice/s1")); err != nil {
				t.Errorf("the session, in which another host may have files of its own: %v", err)
			}
		})
	}
}

// wantArchived checks that each of files is in an archive, as it was, and that
// no archive is of nothing.
func wantArchived(b *bench, files map[string]string) {
	b.t.Helper()
	left := map[string]bool{}
	for path := range files {
		left[path] = true
	}
	list, err := archive.List(b.t.Context(), b.store)
	b.ok(err)
	for _, info := range list {
		n := 0
		b.ok(archive.Read(b.t.Context(), b.store, info.Name, func(m archive.Member, content io.Reader) error {
			text, err := io.ReadAll(content)
			if n++; strings.HasSuffix(files[m.Path], " "+string(text)) {
				delete(left, m.Path)
			}
			return err
		}))
		if n == 0 {
			b.t.Errorf("%s is empty", info.Name)
		}
	}
	if len(left) > 0 {
		b.t.Errorf("in no archive: %v", left)
	}
}
