package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
)

// read returns the content at key.
func read(t testing.TB, s *Store, key backing.Key) string {
	t.Helper()
	c, err := s.Open(context.Background(), key, "")
	must(t, err)
	b := make([]byte, c.Size())
	if n, err := c.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	must(t, c.Close())
	return string(b)
}

// once is a judge that gives what holds needle its fault, the first time.
func once(fault pgtest.Fault, needle string) func([]byte) pgtest.Fault {
	var mu sync.Mutex
	done := false
	return func(sent []byte) pgtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if done || !bytes.Contains(sent, []byte(needle)) {
			return pgtest.Pass
		}
		done = true
		return fault
	}
}

func TestAWriteWhoseConnectionBreaksHappensExactlyOnce(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, url), Options{}))
	ctx := context.Background()
	for _, fault := range []pgtest.Fault{pgtest.LoseQuery, pgtest.LoseAnswer, pgtest.DelayQuery} {
		key := backing.Key(fmt.Sprint("object-", fault))
		dir := backing.Key(fmt.Sprint("directory-", fault))
		first := mustPut(t, s, key, "first\n")

		proxy.OnQuery(once(fault, "second"))
		o := backing.PutOptions{If: first.Revision, KeepVersion: true, Op: "op-2", Mode: 0o600}
		m, err := s.Put(ctx, key, strings.NewReader("second\n"), o)
		must(t, err)
		proxy.OnQuery(once(fault, "third"))
		_, err = s.Append(ctx, key, []byte("third\n"))
		must(t, err)
		proxy.Release()
		versions, err := s.Versions(ctx, key)
		must(t, err)
		if got := read(t, s, key); got != "second\nthird\n" || len(versions) != 1 || m.Mode != 0o600 || m.Size != 7 {
			t.Fatalf("fault %d: content %q, %d versions, put said %+v", fault, got, len(versions), m)
		}

		proxy.OnQuery(once(fault, string(dir)))
		_, err = s.MakeDir(ctx, dir, 0o700)
		must(t, err)
		for _, remove := range []func() error{
			func() error { return s.RemoveDir(ctx, dir) },
			func() error { return s.Remove(ctx, key, "") },
		} {
			proxy.OnQuery(once(fault, "-"+fmt.Sprint(int(fault))))
			must(t, remove())
		}
		proxy.Release()
		for _, gone := range []backing.Key{dir, key} {
			if _, err := s.Stat(ctx, gone); !errors.Is(err, backing.ErrNotFound) {
				t.Fatalf("fault %d: %s: %v", fault, gone, err)
			}
		}
	}
}

func TestAWriteThatNobodyKnowsOfIsRecognisedByItsOperation(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, url), Options{Timeout: 100 * time.Millisecond}))
	ctx := context.Background()
	first := putThrough(t, s, "a", "first")
	loseAll(proxy, "second")
	o := backing.PutOptions{If: first.Revision, KeepVersion: true, Op: "op-2"}
	_, err := s.Put(ctx, "a", strings.NewReader("second"), o)
	if !errors.Is(err, backing.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	proxy.OnQuery(nil)
	m := eventually(t, func() (backing.Meta, error) { return s.Put(ctx, "a", strings.NewReader("second"), o) })
	list, err := s.Versions(ctx, "a")
	must(t, err)
	if len(list) != 1 || m.Size != 6 || read(t, s, "a") != "second" {
		t.Fatalf("versions %+v, meta %+v", list, m)
	}
}

// loseAll loses the answer to what holds needle, and then all that is sent.
func loseAll(proxy *pgtest.Proxy, needle string) {
	lose := once(pgtest.LoseAnswer, needle)
	proxy.OnQuery(func(sent []byte) pgtest.Fault {
		fault := lose(sent)
		if fault != pgtest.Pass {
			go proxy.OnQuery(func([]byte) pgtest.Fault { return pgtest.LoseQuery })
		}
		return fault
	})
}

// Without it a room would find that it has lost against the other host, merge
// its content with that, and so write its line a second time.
func TestAWriteThatNobodyKnowsOfIsRecognisedWhereAnotherHostHasOverwrittenIt(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, url), Options{Timeout: 100 * time.Millisecond}))
	other := closing(t, openStore(t, url, Options{}))
	ctx := context.Background()
	first := putThrough(t, s, "a", "first")
	loseAll(proxy, "second")
	o := backing.PutOptions{If: first.Revision, KeepVersion: true, Op: "op-2"}
	if _, err := s.Put(ctx, "a", strings.NewReader("second"), o); !errors.Is(err, backing.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	mustPut(t, other, "a", "of another host")
	proxy.OnQuery(nil)
	m := eventually(t, func() (backing.Meta, error) {
		m, err := s.Put(ctx, "a", strings.NewReader("second"), o)
		if errors.Is(err, backing.ErrConflict) {
			t.Fatal(err)
		}
		return m, err
	})
	list, err := s.Versions(ctx, "a")
	must(t, err)
	if len(list) != 2 || list[1].Revision != m.Revision || read(t, s, "a") != "of another host" {
		t.Fatalf("versions %+v, meta %+v", list, m)
	}
}

// As for a host that was stopped in the middle of a write, for longer than
// changes are kept.
func TestAWriteWhoseChangeMayBeForgottenIsNotDoneAgain(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, url), Options{Keep: time.Nanosecond}))
	other := closing(t, openStore(t, url, Options{Keep: time.Nanosecond}))
	mustPut(t, s, "a", "first\n")
	lose := once(pgtest.LoseAnswer, "second")
	proxy.OnQuery(func(sent []byte) pgtest.Fault {
		// Only what asks for the write: the end of the write itself may come in
		// a piece of its own, and must not wait for its change to be forgotten.
		if bytes.Contains(sent, []byte("fence")) {
			for read(t, other, "a") != "first\nsecond\n" || changesOf(t, other) > 0 {
				must(t, other.sweep(context.Background()))
			}
		}
		return lose(sent)
	})
	_, err := s.Append(context.Background(), "a", []byte("second\n"))
	if got := read(t, other, "a"); !errors.Is(err, backing.ErrUnknown) || got != "first\nsecond\n" {
		t.Fatalf("error %v, content %q", err, got)
	}
}

// putThrough is mustPut where a slow machine may need more than the store's time.
func putThrough(t testing.TB, s *Store, key backing.Key, body string) backing.Meta {
	t.Helper()
	return eventually(t, func() (backing.Meta, error) {
		return s.Put(context.Background(), key, strings.NewReader(body), backing.PutOptions{Op: "op-1"})
	})
}

// eventually calls f until it succeeds.
func eventually[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		v, err := f()
		if err == nil {
			return v
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// lines appends each of 4 writers' lines to one object until told to stop, and
// at least the first, and returns what was acknowledged.
func lines(t *testing.T, s *Store, stop <-chan struct{}) (wait func() []string) {
	var mu sync.Mutex
	var done []string
	var running sync.WaitGroup
	for w := range 4 {
		running.Go(func() {
			for i := 0; ; i++ {
				line := fmt.Sprintf("writer %d line %d\n", w, i)
				if _, err := s.Append(context.Background(), "log", []byte(line)); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				done = append(done, line)
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	return func() []string {
		running.Wait()
		return done
	}
}

func wantLines(t *testing.T, got string, want []string) {
	t.Helper()
	count := make(map[string]int)
	for line := range strings.Lines(got) {
		count[line]++
	}
	for _, line := range want {
		if count[line] != 1 {
			t.Errorf("%q is there %d times", line, count[line])
		}
		delete(count, line)
	}
	if len(count) > 0 {
		t.Errorf("lines that nobody acknowledged: %v", count)
	}
}

func TestConnectionsThatBreakAtRandomLoseAndDoubleNothing(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, url), Options{}))
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	broken := 0
	stop := make(chan struct{})
	proxy.OnQuery(func([]byte) pgtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if broken == 40 || random.IntN(12) > 0 {
			return pgtest.Pass
		}
		if broken++; broken == 40 {
			close(stop)
		}
		return pgtest.Fault(1 + random.IntN(3))
	})
	acknowledged := lines(t, s, stop)()
	proxy.OnQuery(nil)
	proxy.Release()
	wantLines(t, read(t, s, "log"), acknowledged)
}

func TestAServerThatIsKilledAndStartedLosesAndDoublesNothing(t *testing.T) {
	c := pgtest.Shared(t)
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	events := watch(t, s, "")
	stop := make(chan struct{})
	wait := lines(t, s, stop)
	other := closing(t, openStore(t, s.pool.Config().ConnString(), Options{}))
	for i, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		awaitKeys(t, events, "log")
		must(t, c.Kill(how))
		must(t, c.Restart())
		key := backing.Key(fmt.Sprint("after-", i))
		mustPut(t, other, key, "x")
		awaitKeys(t, events, key)
	}
	close(stop)
	acknowledged := wait()
	wantLines(t, read(t, s, "log"), acknowledged)
}

func TestAServerThatCannotBeReachedIsAClearErrorUntilItCan(t *testing.T) {
	url := pgtest.Schema(t)
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, url), Options{Timeout: 100 * time.Millisecond}))
	putThrough(t, s, "a", "x")
	proxy.Refuse(true)
	ctx := context.Background()
	_, read := s.Stat(ctx, "a")
	_, write := s.Append(ctx, "a", []byte("y"))
	for _, err := range []error{read, write} {
		var errno syscall.Errno
		if !errors.As(err, &errno) || errno != syscall.EIO && errno != syscall.ETIMEDOUT || errors.Is(err, backing.ErrNotFound) {
			t.Fatalf("error %v", err)
		}
	}
	proxy.Refuse(false)
	eventually(t, func() (backing.Meta, error) { return s.Stat(ctx, "a") })
}
