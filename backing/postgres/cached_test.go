package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
	"ctxfs/backing/storetest"
)

// cachedStore looks and lists by way of the cache.
type cachedStore struct{ *Store }

func (s cachedStore) Stat(ctx context.Context, key backing.Key) (backing.Meta, error) {
	return s.StatCached(ctx, key)
}

func (s cachedStore) List(ctx context.Context, dir backing.Key, after string, limit int) ([]backing.Meta, error) {
	return s.ListCached(ctx, dir, after, limit)
}

// TestTheCacheKeepsAllPromises: of what this process writes, nobody sees that
// there is a cache.
func TestTheCacheKeepsAllPromises(t *testing.T) {
	pgtest.Shared(t)
	storetest.Run(t, func(t testing.TB) backing.Store {
		return cachedStore{hearing(t, openStore(t, pgtest.Schema(t)+"&pool_max_conns=4", Options{}))}
	})
}

// hearing returns s when it serves what it has cached.
func hearing(t testing.TB, s *Store) *Store {
	t.Helper()
	events, err := s.Watch(context.Background(), "")
	must(t, err)
	go func() {
		for range events { // until the store ends
		}
	}()
	awaitFresh(t, s)
	return s
}

func awaitFresh(t testing.TB, s *Store) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !s.feed.fresh(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("changes are not heard of")
		}
	}
}

func TestWhatIsCachedFollowsOtherHosts(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	here, there := closing(t, hearing(t, openStore(t, url, Options{}))), closing(t, openStore(t, url, Options{}))
	_, err := there.MakeDir(ctx, "d", 0o755)
	must(t, err)
	mustPut(t, there, "d/changed", "old")
	gone := mustPut(t, there, "d/gone", "old")
	events := watch(t, here, "")
	mustPut(t, there, "begin", "")
	awaitKeys(t, events, "begin") // and with it what was before
	list := func() (names string) {
		page, err := here.ListCached(ctx, "d", "", 100)
		must(t, err)
		for _, m := range page {
			names += m.Key.Name() + " "
		}
		return names
	}
	if got := list(); got != "changed gone " {
		t.Fatalf("it has %q", got)
	}
	for i := range 20 {
		m := mustPut(t, there, "d/changed", fmt.Sprint("new ", i))
		awaitKeys(t, events, "d/changed")
		// From the moment of which it was heard.
		if got, err := here.StatCached(ctx, "d/changed"); err != nil || got != m {
			t.Fatalf("it is %+v, %v, after %+v was heard of", got, err, m)
		}
		c, err := here.Open(ctx, "d/changed", m.Revision)
		must(t, err)
		text := make([]byte, c.Size())
		if _, err := c.ReadAt(text, 0); err != nil || string(text) != fmt.Sprint("new ", i) {
			t.Fatalf("its content is %q, %v", text, err)
		}
		must(t, c.Close())
	}
	must(t, there.Remove(ctx, "d/gone", gone.Revision))
	mustPut(t, there, "d/made", "new")
	awaitKeys(t, events, "d/gone", "d/made")
	if got := list(); got != "changed made " {
		t.Fatalf("it has %q", got)
	}
	if _, err := here.StatCached(ctx, "d/gone"); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("what was removed is there: %v", err)
	}
	must(t, there.Remove(ctx, "d/made", ""))
	must(t, there.Remove(ctx, "d/changed", ""))
	must(t, there.RemoveDir(ctx, "d"))
	awaitKeys(t, events, "d")
	if page, err := here.ListCached(ctx, "d", "", 100); !errors.Is(err, backing.ErrNotFound) {
		t.Fatalf("the directory that was removed has %v, %v", page, err)
	}
}

func TestWhatIsCachedIsNotServedWhileNothingIsHeard(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	here := closing(t, hearing(t, openStore(t, proxy.Through(t, url), Options{Timeout: 2 * time.Second})))
	there := closing(t, openStore(t, url, Options{}))
	m := mustPut(t, here, "a", "old")
	_, err := here.ListCached(ctx, "", "", 10)
	must(t, err)
	proxy.Refuse(true)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); here.feed.fresh(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("nobody has noticed that the server is out of reach")
		}
	}
	if m, err := here.StatCached(ctx, "a"); err == nil {
		t.Fatalf("%+v, and the database is out of reach", m)
	}
	// The bytes of a revision stay what they are.
	c, err := here.Open(ctx, "a", m.Revision)
	must(t, err)
	must(t, c.Close())
	m = mustPut(t, there, "a", "new")
	proxy.Refuse(false)
	awaitFresh(t, here)
	if got, err := here.StatCached(ctx, "a"); err != nil || got != m {
		t.Fatalf("it is %+v, %v, and not %+v", got, err, m)
	}
}

func TestAWriteThatHappensAfterItWasGivenUpIsHeardOf(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, hearing(t, openStore(t, proxy.Through(t, url), Options{Timeout: time.Second})))
	old := mustPut(t, s, "a", "old")
	_, err := s.ListCached(ctx, "", "", 10)
	must(t, err)
	lost := once(pgtest.DelayQuery, "late content")
	fenced := func(sent []byte) pgtest.Fault {
		if strings.Contains(string(sent), "fence) VALUES") {
			return pgtest.LoseQuery
		}
		return lost(sent)
	}
	proxy.OnQuery(fenced)
	_, err = s.Put(ctx, "a", strings.NewReader("late content"), backing.PutOptions{If: old.Revision})
	if !errors.Is(err, backing.ErrUnknown) {
		t.Fatalf("the put ends in %v", err)
	}
	proxy.OnQuery(nil)
	awaitFresh(t, s)
	// The first calls may still find the database out of reach.
	m := eventually(t, func() (backing.Meta, error) { return s.StatCached(ctx, "a") })
	if m != old {
		t.Fatalf("it is %+v already", m)
	}
	events := watch(t, s, "")
	proxy.Release()
	awaitKeys(t, events, "a")
	if m, err := s.StatCached(ctx, "a"); err != nil || m.Size != int64(len("late content")) {
		t.Fatalf("it is %+v, %v, after the write was heard of", m, err)
	}
}

func TestManyReadersAndWritersOfTwoHostsAgree(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	a, b := closing(t, hearing(t, openStore(t, url, Options{}))), closing(t, hearing(t, openStore(t, url, Options{})))
	_, err := a.MakeDir(ctx, "d", 0o755)
	must(t, err)
	key := func(i int) backing.Key { return backing.Key("d").Join(fmt.Sprint(i % 5)) }
	var all sync.WaitGroup
	for n, s := range []*Store{a, b, a, b} {
		all.Go(func() {
			for i := range 100 {
				switch k := key(i * (n + 1)); {
				case i%7 == 6:
					if err := s.Remove(ctx, k, ""); err != nil && !errors.Is(err, backing.ErrNotFound) {
						t.Error(err)
					}
				default:
					if _, err := s.Put(ctx, k, strings.NewReader(fmt.Sprint(n, i)), backing.PutOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		all.Go(func() {
			for i := range 300 {
				if _, err := s.StatCached(ctx, key(i)); err != nil && !errors.Is(err, backing.ErrNotFound) {
					t.Error(err)
				}
				if _, err := s.ListCached(ctx, "d", "", 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	// When each has heard of all that was done, each shows what there is.
	for _, s := range []*Store{a, b} {
		events := watch(t, s, "")
		other := a
		if s == a {
			other = b
		}
		last := backing.Key(fmt.Sprintf("last-%p", s))
		mustPut(t, other, last, "")
		awaitKeys(t, events, last)
		want, err := s.List(ctx, "d", "", 100)
		must(t, err)
		got, err := s.ListCached(ctx, "d", "", 100)
		must(t, err)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("it shows %v, there is %v", got, want)
		}
		for _, m := range want {
			if got, err := s.StatCached(ctx, m.Key); err != nil || got != m {
				t.Fatalf("it shows %v, %v, there is %v", got, err, m)
			}
		}
	}
}

// The write comes to the server after it was looked at, and before it is asked
// for.
func TestWhatWasLearnedBeforeALateWriteIsForgotten(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, hearing(t, openStore(t, proxy.Through(t, url), Options{})))
	mustPut(t, s, "a", "first")
	_, err := s.ListCached(ctx, "", "", 10)
	must(t, err)
	lose := once(pgtest.DelayQuery, "second")
	asked := once(pgtest.LoseQuery, "fence")
	proxy.OnQuery(func(sent []byte) pgtest.Fault {
		if asked(sent) != pgtest.Pass {
			if m, err := s.StatCached(ctx, "a"); err != nil || m.Size != int64(len("first")) {
				t.Errorf("before: %+v, %v", m, err)
			}
			proxy.Release()
		}
		return lose(sent)
	})
	put := mustPut(t, s, "a", "second")
	if m, err := s.StatCached(ctx, "a"); err != nil || m.Revision != put.Revision {
		t.Errorf("%+v, not %+v, %v", m, put, err)
	}
}
