package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ctxfs/backing"
)

var putTests = []test{
	{"PutMakesAnObjectThatReadsBack", func(t *testing.T, s backing.Store) {
		m := put(t, s, "a", "hello", backing.PutOptions{})
		if m.Key != "a" || m.Size != 5 || m.Dir || m.Mode != 0o644 || m.Revision == "" || m.Revision == backing.Absent {
			t.Fatalf("meta %+v", m)
		}
		wantBody(t, s, "a", "hello")
	}},
	{"PutOfNothingMakesAnEmptyObject", func(t *testing.T, s backing.Store) {
		if m := put(t, s, "a", "", backing.PutOptions{}); m.Size != 0 {
			t.Fatalf("meta %+v", m)
		}
		wantBody(t, s, "a", "")
	}},
	{"PutKeepsEveryByteOfALargeObject", func(t *testing.T, s backing.Store) {
		body := strings.Repeat("0123456789abcdef\x00\xff", 200_000)
		put(t, s, "a", body, backing.PutOptions{})
		wantBody(t, s, "a", body)
	}},
	{"EveryPutMakesAnotherRevision", func(t *testing.T, s backing.Store) {
		seen := map[backing.Revision]bool{}
		when := time.Unix(1_700_000_000, 0)
		for range 50 {
			m := put(t, s, "a", "same", backing.PutOptions{ModTime: when, KeepVersion: true})
			if seen[m.Revision] {
				t.Fatalf("revision %q came twice", m.Revision)
			}
			seen[m.Revision] = true
		}
	}},
	{"PutReturnsTheRevisionThatStatShows", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "1", backing.PutOptions{})
		m := put(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
		got, err := s.Stat(context.Background(), "a")
		ok(t, err)
		if got != m {
			t.Fatalf("Stat says %+v, Put said %+v", got, m)
		}
	}},
	{"PutIsWithdrawnWhereTheCallerIsNotSure", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		no := backing.PutOptions{KeepVersion: true, Op: "op-1", Sure: func() bool { return false }}
		_, err := s.Put(ctx, "a", strings.NewReader("1"), no)
		fails(t, err, backing.ErrWithdrawn)
		_, err = s.Stat(ctx, "a")
		fails(t, err, backing.ErrNotFound)
		old := put(t, s, "a", "1", backing.PutOptions{})
		_, err = s.Put(ctx, "a", strings.NewReader("2"), no)
		fails(t, err, backing.ErrWithdrawn)
		if m, err := s.Stat(ctx, "a"); err != nil || m.Revision != old.Revision {
			t.Fatalf("%+v became %+v, %v", old, m, err)
		}
		if list, err := s.Versions(ctx, "a"); err != nil || len(list) != 0 {
			t.Fatalf("versions %+v, %v", list, err)
		}
		put(t, s, "a", "3", backing.PutOptions{Sure: func() bool { return true }})
		wantBody(t, s, "a", "3")
	}},
	{"ModeStaysUnlessGiven", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "1", backing.PutOptions{Mode: 0o640})
		if m := put(t, s, "a", "2", backing.PutOptions{}); m.Mode != 0o640 {
			t.Fatalf("mode %v", m.Mode)
		}
		if m := put(t, s, "a", "3", backing.PutOptions{Mode: 0o600}); m.Mode != 0o600 {
			t.Fatalf("mode %v", m.Mode)
		}
	}},
	{"ModTimeIsThatGivenOrNow", func(t *testing.T, s backing.Store) {
		when := time.Date(2026, 2, 21, 14, 30, 22, 123456789, time.UTC)
		if m := put(t, s, "a", "1", backing.PutOptions{ModTime: when}); !m.ModTime.Equal(when) {
			t.Fatalf("time %v", m.ModTime)
		}
		m := put(t, s, "a", "2", backing.PutOptions{})
		if age := time.Since(m.ModTime); age < -time.Minute || age > time.Minute {
			t.Fatalf("time %v", m.ModTime)
		}
	}},
	{"PutNeedsTheDirectory", func(t *testing.T, s backing.Store) {
		fails(t, tryPut(s, "no/a", "x", backing.PutOptions{}), backing.ErrNotFound)
		put(t, s, "file", "x", backing.PutOptions{})
		fails(t, tryPut(s, "file/a", "x", backing.PutOptions{}), backing.ErrNotDir, backing.ErrNotFound)
	}},
	{"PutOverADirectoryIsRefused", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		fails(t, tryPut(s, "d", "x", backing.PutOptions{}), backing.ErrIsDir)
	}},
	{"APutWhoseReaderFailsChangesNothing", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "old", backing.PutOptions{})
		_, err := s.Put(context.Background(), "a", &brokenReader{left: 100_000}, backing.PutOptions{KeepVersion: true})
		fails(t, err, errBroken)
		wantBody(t, s, "a", "old")
		_, err = s.Put(context.Background(), "b", &brokenReader{left: 100_000}, backing.PutOptions{})
		fails(t, err, errBroken)
		wantGone(t, s, "b")
	}},
	{"ACancelledPutDidNotHappenOrSaysUnknown", func(t *testing.T, s backing.Store) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Put(ctx, "a", strings.NewReader("x"), backing.PutOptions{})
		if errors.Is(err, backing.ErrUnknown) {
			return
		}
		fails(t, err, context.Canceled)
		wantGone(t, s, "a")
	}},
}

var errBroken = errors.New("the reader broke")

// brokenReader gives left bytes and then fails.
type brokenReader struct{ left int }

func (r *brokenReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, errBroken
	}
	n := min(len(p), r.left)
	r.left -= n
	return n, nil
}

var conditionTests = []test{
	{"PutIfRevisionIsCurrentHappens", func(t *testing.T, s backing.Store) {
		m := put(t, s, "a", "1", backing.PutOptions{})
		put(t, s, "a", "2", backing.PutOptions{If: m.Revision})
		wantBody(t, s, "a", "2")
	}},
	{"PutIfRevisionIsStaleConflictsAndChangesNothing", func(t *testing.T, s backing.Store) {
		old := put(t, s, "a", "1", backing.PutOptions{})
		cur := put(t, s, "a", "2", backing.PutOptions{})
		fails(t, tryPut(s, "a", "3", backing.PutOptions{If: old.Revision, KeepVersion: true}), backing.ErrConflict)
		if got := read(t, s, "a", cur.Revision); got != "2" {
			t.Fatalf("content %q", got)
		}
		if list, err := s.Versions(context.Background(), "a"); err != nil || len(list) != 0 {
			t.Fatalf("versions %+v, %v", list, err)
		}
	}},
	{"PutIfRevisionOfAMissingObjectConflicts", func(t *testing.T, s backing.Store) {
		old := put(t, s, "a", "1", backing.PutOptions{})
		ok(t, s.Remove(context.Background(), "a", ""))
		fails(t, tryPut(s, "a", "2", backing.PutOptions{If: old.Revision}), backing.ErrConflict)
		wantGone(t, s, "a")
	}},
	{"PutIfAbsentMakesOnce", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "1", backing.PutOptions{If: backing.Absent})
		fails(t, tryPut(s, "a", "2", backing.PutOptions{If: backing.Absent}), backing.ErrExists)
		wantBody(t, s, "a", "1")
	}},
	{"ARetriedPutHappensOnce", func(t *testing.T, s backing.Store) {
		old := put(t, s, "a", "1", backing.PutOptions{Op: "op-1"})
		o := backing.PutOptions{If: old.Revision, Op: "op-2", KeepVersion: true}
		first := put(t, s, "a", "2", o)
		if again := put(t, s, "a", "2", o); again != first {
			t.Fatalf("the retry made %+v of %+v", again, first)
		}
		list, err := s.Versions(context.Background(), "a")
		ok(t, err)
		if len(list) != 1 {
			t.Fatalf("versions %+v", list)
		}
	}},
	{"ARetriedCreationHappensOnce", func(t *testing.T, s backing.Store) {
		o := backing.PutOptions{If: backing.Absent, Op: "Op-0"}
		first := put(t, s, "a", "1", o)
		if again := put(t, s, "a", "1", o); again != first {
			t.Fatalf("the retry made %+v of %+v", again, first)
		}
	}},
	{"AnOpThatWasOverwrittenIsNoRetry", func(t *testing.T, s backing.Store) {
		old := put(t, s, "a", "1", backing.PutOptions{Op: "op-1"})
		put(t, s, "a", "2", backing.PutOptions{})
		fails(t, tryPut(s, "a", "1", backing.PutOptions{If: old.Revision, Op: "op-1"}), backing.ErrConflict)
		put(t, s, "a", "3", backing.PutOptions{Op: "op-1"})
		wantBody(t, s, "a", "3")
	}},
	{"AnOpIsCheckedForItsForm", func(t *testing.T, s backing.Store) {
		for _, op := range []string{strings.Repeat("x", 65), "a b", "ü", "a_b"} {
			if err := tryPut(s, "a", "1", backing.PutOptions{Op: op}); err == nil {
				t.Fatalf("operation id %q was taken", op)
			}
		}
		put(t, s, "a", "1", backing.PutOptions{Op: strings.Repeat("x", 64)})
	}},
	{"RemoveIfRevisionIsStaleConflicts", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		old := put(t, s, "a", "1", backing.PutOptions{})
		cur := put(t, s, "a", "22", backing.PutOptions{})
		fails(t, s.Remove(ctx, "a", old.Revision), backing.ErrConflict)
		ok(t, s.Remove(ctx, "a", cur.Revision))
		fails(t, s.Remove(ctx, "a", ""), backing.ErrNotFound)
	}},
}
