package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ctxfs/backing"
)

var concurrentTests = []test{
	{"OneOf32CreatorsWins", func(t *testing.T, s backing.Store) {
		for round := range 5 {
			key := backing.Key(fmt.Sprintf("a%d", round))
			errs := together(32, func(i int) error {
				return tryPut(s, key, strconv.Itoa(i), backing.PutOptions{If: backing.Absent})
			})
			winner := -1
			for i, err := range errs {
				if err == nil && winner >= 0 {
					t.Fatalf("%d and %d both made it", winner, i)
				}
				if err == nil {
					winner = i
					continue
				}
				fails(t, err, backing.ErrExists)
			}
			if winner < 0 {
				t.Fatal("nobody made it")
			}
			wantBody(t, s, key, strconv.Itoa(winner))
		}
	}},
	{"CompareAndSetOf16LosesNothing", func(t *testing.T, s backing.Store) {
		put(t, s, "n", "0", backing.PutOptions{})
		const each = 50
		errs := together(16, func(int) error {
			for range each {
				if err := increment(s, "n"); err != nil {
					return err
				}
			}
			return nil
		})
		ok(t, errors.Join(errs...))
		wantBody(t, s, "n", strconv.Itoa(16*each))
	}},
	{"AppendsDoNotInterleave", func(t *testing.T, s backing.Store) {
		line := func(i int) string { return strings.Repeat(string(rune('a'+i)), 300) + "\n" }
		errs := together(8, func(i int) error {
			for range 50 {
				if _, err := s.Append(context.Background(), "log", []byte(line(i))); err != nil {
					return err
				}
			}
			return s.Sync(context.Background(), "log")
		})
		ok(t, errors.Join(errs...))
		count := map[string]int{}
		for l := range strings.Lines(read(t, s, "log", "")) {
			count[l]++
		}
		for i := range 8 {
			if count[line(i)] != 50 || len(count) != 8 {
				t.Fatalf("%d of 50 lines of %d; %d kinds of lines", count[line(i)], i, len(count))
			}
		}
	}},
	{"ReadersSeeWholeContentsOfTheRevisionTheyAskFor", func(t *testing.T, s backing.Store) {
		body := func(i int) string { return strings.Repeat(fmt.Sprintf("%06d\n", i), 2000) }
		m := put(t, s, "a", body(0), backing.PutOptions{})
		var mu sync.Mutex // guards wrote
		wrote := map[backing.Revision]int{m.Revision: 0}
		errs := together(5, func(i int) error {
			if i == 0 {
				return writeRevisions(s, body, &mu, wrote)
			}
			for range 60 {
				if err := readRevision(s, body, &mu, wrote); err != nil {
					return err
				}
			}
			return nil
		})
		ok(t, errors.Join(errs...))
	}},
	{"PutsOfManyKeysInOneDirectoryAllArrive", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		errs := together(16, func(i int) error {
			for j := range 10 {
				if err := tryPut(s, backing.Key(fmt.Sprintf("d/%d-%d", i, j)), "x", backing.PutOptions{If: backing.Absent}); err != nil {
					return err
				}
			}
			return nil
		})
		ok(t, errors.Join(errs...))
		if got := names(t, s, "d", 50); len(got) != 160 {
			t.Fatalf("%d objects", len(got))
		}
	}},
	{"VersionsOfConcurrentOverwritesAreAllKept", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "first", backing.PutOptions{})
		errs := together(8, func(i int) error {
			for j := range 10 {
				if err := tryPut(s, "a", fmt.Sprintf("%d-%d", i, j), backing.PutOptions{KeepVersion: true}); err != nil {
					return err
				}
			}
			return nil
		})
		ok(t, errors.Join(errs...))
		list, err := s.Versions(context.Background(), "a")
		ok(t, err)
		bodies := map[string]bool{read(t, s, "a", ""): true}
		for _, v := range list {
			bodies[read(t, s, "a", v.Revision)] = true
		}
		if len(list) != 80 || len(bodies) != 81 {
			t.Fatalf("%d versions, %d contents", len(list), len(bodies))
		}
	}},
}

// together runs f n times at once and returns what each returned.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// increment adds one to the number in key, however often others are faster.
func increment(s backing.Store, key backing.Key) error {
	ctx := context.Background()
	for {
		m, err := s.Stat(ctx, key)
		if err != nil {
			return err
		}
		body, err := bodyOf(s, key, m.Revision)
		if errors.Is(err, backing.ErrNotFound) { // overwritten meanwhile
			continue
		}
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(body)
		if err != nil {
			return err
		}
		err = tryPut(s, key, strconv.Itoa(n+1), backing.PutOptions{If: m.Revision})
		if !errors.Is(err, backing.ErrConflict) {
			return err
		}
	}
}

func writeRevisions(s backing.Store, body func(int) string, mu *sync.Mutex, wrote map[backing.Revision]int) error {
	for i := 1; i <= 60; i++ {
		m, err := s.Put(context.Background(), "a", strings.NewReader(body(i)), backing.PutOptions{KeepVersion: true})
		if err != nil {
			return err
		}
		mu.Lock()
		wrote[m.Revision] = i
		mu.Unlock()
	}
	return nil
}

// readRevision reads the current content by its revision, and what was kept
// of one that was current earlier.
func readRevision(s backing.Store, body func(int) string, mu *sync.Mutex, wrote map[backing.Revision]int) error {
	m, err := s.Stat(context.Background(), "a")
	if err != nil {
		return err
	}
	got, err := bodyOf(s, "a", m.Revision)
	if err != nil {
		return err
	}
	mu.Lock()
	i, known := wrote[m.Revision]
	mu.Unlock()
	if known && got != body(i) || len(got) != len(body(0)) {
		return fmt.Errorf("revision %s holds %.20q of %d bytes", m.Revision, got, len(got))
	}
	return nil
}

func bodyOf(s backing.Store, key backing.Key, rev backing.Revision) (string, error) {
	c, err := s.Open(context.Background(), key, rev)
	if err != nil {
		return "", err
	}
	buf := make([]byte, c.Size())
	n, err := c.ReadAt(buf, 0)
	if n == len(buf) {
		err = nil
	}
	return string(buf[:n]), errors.Join(err, c.Close())
}
