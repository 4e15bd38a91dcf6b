package storetest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/backing"
)

// three puts three contents at key and returns the current one and the
// versions.
func three(t *testing.T, s backing.Store, key backing.Key) (backing.Meta, []backing.Version) {
	t.Helper()
	var m backing.Meta
	for _, body := range []string{"1", "22", "333"} {
		m = put(t, s, key, body, backing.PutOptions{KeepVersion: true})
	}
	list, err := s.Versions(context.Background(), key)
	ok(t, err)
	if len(list) != 2 {
		t.Fatalf("versions %+v", list)
	}
	return m, list
}

func wantVersions(t *testing.T, s backing.Store, key backing.Key, numbers ...int) {
	t.Helper()
	list, err := s.Versions(context.Background(), key)
	ok(t, err)
	if len(list) != len(numbers) {
		t.Fatalf("versions %+v, not %v", list, numbers)
	}
	for i, v := range list {
		if v.N != numbers[i] {
			t.Fatalf("versions %+v, not %v", list, numbers)
		}
	}
}

var discardTests = []test{
	{"DiscardRemovesObjectsWithTheirVersions", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		a, av := three(t, s, "d/a")
		b, bv := three(t, s, "d/b")
		three(t, s, "d/c")
		for _, err := range s.Discard(context.Background(), []backing.Removal{
			{Key: "d/a", Object: a.Revision, Versions: av}, {Key: "d/b", Object: b.Revision, Versions: bv}}) {
			ok(t, err)
		}
		for _, key := range []backing.Key{"d/a", "d/b"} {
			wantGone(t, s, key)
			wantVersions(t, s, key)
		}
		wantBody(t, s, "d/c", "333")
		wantVersions(t, s, "d/c", 1, 2)
		put(t, s, "d/a", "new", backing.PutOptions{KeepVersion: true})
		put(t, s, "d/a", "newer", backing.PutOptions{KeepVersion: true})
		wantVersions(t, s, "d/a", 1)
	}},
	{"DiscardOfVersionsLeavesTheObject", func(t *testing.T, s backing.Store) {
		_, list := three(t, s, "a")
		ok(t, s.Discard(context.Background(), []backing.Removal{{Key: "a", Versions: list[:1]}})[0])
		wantBody(t, s, "a", "333")
		wantVersions(t, s, "a", 2)
		put(t, s, "a", "4444", backing.PutOptions{KeepVersion: true})
		wantVersions(t, s, "a", 2, 3)
	}},
	{"DiscardOfAnotherRevisionLeavesEverything", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		old, list := three(t, s, "a")
		put(t, s, "a", "4444", backing.PutOptions{KeepVersion: true})
		errs := s.Discard(context.Background(), []backing.Removal{{Key: "a", Object: old.Revision, Versions: list},
			{Key: "no", Object: "x"}, {Key: "d", Object: "x"}})
		fails(t, errs[0], backing.ErrConflict)
		fails(t, errs[1], backing.ErrNotFound)
		fails(t, errs[2], backing.ErrIsDir)
		wantBody(t, s, "a", "4444")
		wantVersions(t, s, "a", 1, 2, 3)
	}},
	{"DiscardLeavesAVersionOfAnotherRevision", func(t *testing.T, s backing.Store) {
		_, list := three(t, s, "a")
		list[0].Revision = list[1].Revision
		ok(t, s.Discard(context.Background(), []backing.Removal{{Key: "a", Versions: list[:1]}})[0])
		wantVersions(t, s, "a", 1, 2)
	}},
	{"DiscardRemovesDirectoriesThatItEmptied", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		makeDir(t, s, "d/e")
		makeDir(t, s, "d/f")
		a, av := three(t, s, "d/e/a")
		three(t, s, "d/f/b")
		errs := s.Discard(context.Background(), []backing.Removal{{Key: "d/e/a", Object: a.Revision, Versions: av},
			{Key: "d/e", Dir: true}, {Key: "d/f", Dir: true}, {Key: "d/no", Dir: true}, {Key: "d/f/b", Dir: true}})
		ok(t, errs[0])
		ok(t, errs[1])
		fails(t, errs[2], backing.ErrNotEmpty)
		fails(t, errs[3], backing.ErrNotFound)
		fails(t, errs[4], backing.ErrNotDir)
		wantGone(t, s, "d/e")
		wantBody(t, s, "d/f/b", "333")
	}},
	{"DiscardStopsWhenCancelled", func(t *testing.T, s backing.Store) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		m := put(t, s, "a", "x", backing.PutOptions{})
		fails(t, s.Discard(ctx, []backing.Removal{{Key: "a", Object: m.Revision}})[0], context.Canceled)
		wantBody(t, s, "a", "x")
	}},
	{"ARestoredVersionIsOneOfThem", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		when := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
		uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
		if uid == 0 { // who may give files away
			uid, gid = 4711, 4712
		}
		makeDir(t, s, "d")
		for _, n := range []int{3, 7} {
			ok(t, s.RestoreVersion(ctx, "d/a", backing.Version{N: n, ModTime: when, Mode: 0o640, UID: uid, GID: gid}, strings.NewReader("old")))
		}
		fails(t, s.RestoreVersion(ctx, "d/a", backing.Version{N: 7}, strings.NewReader("other")), backing.ErrExists)
		wantVersions(t, s, "d/a", 3, 7)
		put(t, s, "d/a", "1", backing.PutOptions{KeepVersion: true})
		put(t, s, "d/a", "2", backing.PutOptions{KeepVersion: true})
		list, err := s.Versions(ctx, "d/a")
		ok(t, err)
		if len(list) != 3 || list[2].N != 8 || !list[0].ModTime.Equal(when) {
			t.Fatalf("versions %+v", list)
		}
		if v := list[0]; v.Mode != 0o640 || v.UID != uid || v.GID != gid {
			t.Fatalf("version %+v, which had the mode 640 and was of %d:%d", v, uid, gid)
		}
		c, err := s.OpenVersion(ctx, "d/a", 7)
		ok(t, err)
		if got := all(t, c); got != "old" {
			t.Fatalf("version 7 is %q", got)
		}
	}},
	{"EachKeyWithVersionsIsFound", func(t *testing.T, s backing.Store) {
		v, can := s.(backing.Versioned)
		if !can {
			return
		}
		ctx := context.Background()
		makeDir(t, s, "d")
		makeDir(t, s, "d/e")
		for _, key := range []backing.Key{"d/e/gone", "d/a", "d.", "top"} {
			three(t, s, key)
		}
		put(t, s, "d/once", "x", backing.PutOptions{KeepVersion: true})
		ok(t, s.Remove(ctx, "d/e/gone", ""))
		var keys []backing.Key
		ok(t, v.Versioned(ctx, func(key backing.Key) error { keys = append(keys, key); return nil }))
		slices.Sort(keys)
		if !slices.Equal(keys, []backing.Key{"d.", "d/a", "d/e/gone", "top"}) {
			t.Fatalf("versions are kept of %q", keys)
		}
		fails(t, v.Versioned(ctx, func(backing.Key) error { return os.ErrDeadlineExceeded }), os.ErrDeadlineExceeded)
	}},
}
