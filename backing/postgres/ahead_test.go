package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/cache"
	"ctxfs/backing/postgres/pgtest"
)

// naming counts what is sent that has name in it.
func naming(p *pgtest.Proxy, name string) (count func() int) {
	var n atomic.Int64
	p.OnQuery(func(sent []byte) pgtest.Fault {
		if bytes.Contains(sent, []byte(name)) {
			n.Add(1)
		}
		return pgtest.Pass
	})
	return func() int { return int(n.Load()) }
}

func TestAWalkTakesFewRoundTrips(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	there := closing(t, openStore(t, url, Options{}))
	const dirs, each = 3, 100
	for d := range dirs {
		dir := backing.Key(fmt.Sprint("walked-", d))
		_, err := there.MakeDir(ctx, dir, 0o755)
		must(t, err)
		for i := range each {
			mustPut(t, there, dir.Join(fmt.Sprint(i)), fmt.Sprint("content ", d, i))
		}
	}
	proxy := pgtest.NewProxy(t)
	count := naming(proxy, "walked-")
	walk := func(s *Store) (statements int) {
		before := count()
		for d := range dirs {
			dir := backing.Key(fmt.Sprint("walked-", d))
			page, err := s.ListCached(ctx, dir, "", 1000)
			must(t, err)
			for _, m := range page {
				c, err := s.Open(ctx, m.Key, m.Revision)
				must(t, err)
				must(t, c.Close())
				_, err = s.StatCached(ctx, m.Key+".absent")
				if !errors.Is(err, backing.ErrNotFound) {
					t.Fatal(err)
				}
			}
		}
		return count() - before
	}
	// A machine that stalls asks more often: some walk is as it should be.
	for end := time.Now().Add(patience); ; {
		here := hearing(t, openStore(t, proxy.Through(t, url), Options{}))
		first, again := walk(here), walk(here)
		must(t, here.Close())
		// A listing, then all contents at once; the first ones are prepared.
		if first <= dirs*2+2 && again == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the first walk of %d contents took %d statements, the second one %d", dirs*each, first, again)
		}
	}
}

func TestWhatIsReadAheadIsWhole(t *testing.T) {
	ctx := context.Background()
	s := closing(t, hearing(t, openStore(t, pgtest.Schema(t), Options{})))
	_, err := s.MakeDir(ctx, "d", 0o755)
	must(t, err)
	for i, size := range []int{0, 1, 5000, smallMax, smallMax + 1} {
		for n := range 3 {
			_, err := s.Put(ctx, backing.Key(fmt.Sprintf("d/%d-%d", i, n)), bytes.NewReader(large(size)), backing.PutOptions{})
			must(t, err)
		}
	}
	for range 3 { // of several chunks
		_, err := s.Append(ctx, "d/appended", large(tailMax))
		must(t, err)
	}
	for range 2 {
		must(t, s.contents.Close())
		s.contents = cache.NewContents(t.TempDir(), DefaultCache, s.o.Log)
		page, err := s.ListCached(ctx, "d", "", 100)
		must(t, err)
		for _, m := range page {
			c, err := s.Open(ctx, m.Key, m.Revision)
			must(t, err)
			got := make([]byte, m.Size)
			if n, err := c.ReadAt(got, 0); n < len(got) {
				t.Fatalf("%s ends after %d bytes: %v", m.Key, n, err)
			}
			must(t, c.Close())
			if string(got) != read(t, s, m.Key) {
				t.Fatalf("%s is another one", m.Key)
			}
		}
	}
}

func TestOnlyWhoReadsADirectoryIsReadAheadFor(t *testing.T) {
	var a ahead
	now := time.Now()
	more := func(dir int) bool {
		now = now.Add(time.Microsecond)
		key := backing.Key(fmt.Sprint(dir))
		_, more := a.begin(key, now)
		if more {
			a.end(key, now)
		}
		return more
	}
	// Those in the order of their times, who go from directory to directory.
	for i := range 4 * aheadDirs {
		if more(i % (2 * aheadDirs)) {
			t.Fatalf("content %d is taken for the second of a walk", i)
		}
	}
	if len(a.last) > aheadDirs {
		t.Errorf("%d directories are remembered", len(a.last))
	}
	for i := range 4 { // several walk at once
		for dir := range aheadDirs / 2 {
			if got := more(1000 + dir); got != (i > 0) {
				t.Fatalf("content %d of directory %d: %v", i, dir, got)
			}
		}
	}
	now = now.Add(aheadWithin)
	if more(1000) {
		t.Error("who comes back much later is taken for one who walks")
	}
}
