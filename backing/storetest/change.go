package storetest

import (
	"context"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"ctxfs/backing"
)

var appendTests = []test{
	{"AppendMakesAndExtends", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		first, err := s.Append(ctx, "log", []byte("one\n"))
		ok(t, err)
		second, err := s.Append(ctx, "log", []byte("two\n"))
		ok(t, err)
		if first.Size != 4 || second.Size != 8 || first.Revision == second.Revision {
			t.Fatalf("metas %+v, %+v", first, second)
		}
		ok(t, s.Sync(ctx, "log"))
		ok(t, s.Sync(ctx, "log"))
		wantBody(t, s, "log", "one\ntwo\n")
	}},
	{"AppendOfNothingMakesAnEmptyObject", func(t *testing.T, s backing.Store) {
		_, err := s.Append(context.Background(), "log", nil)
		ok(t, err)
		wantBody(t, s, "log", "")
	}},
	{"AppendNeedsADirectoryAndAnObject", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		_, err := s.Append(ctx, "no/log", []byte("x"))
		fails(t, err, backing.ErrNotFound)
		makeDir(t, s, "d")
		_, err = s.Append(ctx, "d", []byte("x"))
		fails(t, err, backing.ErrIsDir)
		fails(t, s.Sync(ctx, "no"), backing.ErrNotFound)
	}},
	{"AppendAfterPutExtendsThePut", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "put", backing.PutOptions{})
		_, err := s.Append(context.Background(), "a", []byte("+"))
		ok(t, err)
		wantBody(t, s, "a", "put+")
	}},
}

var attrTests = []test{
	{"SetAttrChangesWhatIsGivenOnly", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		put(t, s, "a", "body", backing.PutOptions{Mode: 0o644})
		mode := fs.FileMode(0o600)
		m, err := s.SetAttr(ctx, "a", backing.AttrChange{Mode: &mode})
		ok(t, err)
		when := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
		n, err := s.SetAttr(ctx, "a", backing.AttrChange{ModTime: &when})
		ok(t, err)
		if m.Mode != 0o600 || n.Mode != 0o600 || !n.ModTime.Equal(when) || n.Size != 4 {
			t.Fatalf("metas %+v, %+v", m, n)
		}
		if got := read(t, s, "a", n.Revision); got != "body" {
			t.Fatalf("content %q", got)
		}
	}},
	{"SetAttrWorksOnDirectories", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		mode := fs.FileMode(0o700)
		m, err := s.SetAttr(context.Background(), "d", backing.AttrChange{Mode: &mode})
		ok(t, err)
		if !m.Dir || m.Mode != 0o700 {
			t.Fatalf("meta %+v", m)
		}
	}},
	{"SetAttrNeverGivesSpecialBits", func(t *testing.T, s backing.Store) {
		mode := fs.FileMode(0o755) | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
		m := put(t, s, "a", "x", backing.PutOptions{Mode: mode})
		n, err := s.SetAttr(context.Background(), "a", backing.AttrChange{Mode: &mode})
		ok(t, err)
		if m.Mode != 0o755 || n.Mode != 0o755 {
			t.Fatalf("modes %v, %v", m.Mode, n.Mode)
		}
	}},
	{"SetAttrOfWhatIsMissingIsNotFound", func(t *testing.T, s backing.Store) {
		mode := fs.FileMode(0o600)
		_, err := s.SetAttr(context.Background(), "no", backing.AttrChange{Mode: &mode})
		fails(t, err, backing.ErrNotFound)
	}},
}

var versionTests = []test{
	{"OverwrittenContentsAreKeptInOrder", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		makeDir(t, s, "d")
		var metas []backing.Meta
		for i := range 12 {
			metas = append(metas, put(t, s, "d/a", fmt.Sprintf("body %d", i), backing.PutOptions{KeepVersion: true}))
		}
		list, err := s.Versions(ctx, "d/a")
		ok(t, err)
		if len(list) != 11 {
			t.Fatalf("%d versions: %+v", len(list), list)
		}
		for i, v := range list {
			want := backing.Version{N: i + 1, Size: metas[i].Size, ModTime: metas[i].ModTime,
				Mode: metas[i].Mode, UID: metas[i].UID, GID: metas[i].GID, Revision: metas[i].Revision}
			if v != want {
				t.Fatalf("version %+v, not %+v", v, want)
			}
			c, err := s.OpenVersion(ctx, "d/a", v.N)
			ok(t, err)
			body := fmt.Sprintf("body %d", i)
			if got := all(t, c); got != body {
				t.Fatalf("version %d is %q", v.N, got)
			}
			if got := read(t, s, "d/a", v.Revision); got != body {
				t.Fatalf("revision of version %d is %q", v.N, got)
			}
		}
		_, err = s.OpenVersion(ctx, "d/a", 12)
		fails(t, err, backing.ErrNotFound)
		_, err = s.OpenVersion(ctx, "d/a", 0)
		fails(t, err, backing.ErrNotFound)
	}},
	{"WithoutKeepVersionNoneIsKept", func(t *testing.T, s backing.Store) {
		old := put(t, s, "a", "1", backing.PutOptions{})
		put(t, s, "a", "2", backing.PutOptions{})
		list, err := s.Versions(context.Background(), "a")
		ok(t, err)
		if len(list) != 0 {
			t.Fatalf("versions %+v", list)
		}
		_, err = s.Open(context.Background(), "a", old.Revision)
		fails(t, err, backing.ErrNotFound)
	}},
	{"AVersionStaysAsItWas", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		put(t, s, "a", "one", backing.PutOptions{KeepVersion: true})
		put(t, s, "a", "two", backing.PutOptions{KeepVersion: true})
		before, err := s.Versions(ctx, "a")
		ok(t, err)
		mode, when := fs.FileMode(0o600), time.Unix(1, 0)
		_, err = s.SetAttr(ctx, "a", backing.AttrChange{Mode: &mode, ModTime: &when})
		ok(t, err)
		_, err = s.Append(ctx, "a", []byte("+"))
		ok(t, err)
		ok(t, s.Remove(ctx, "a", ""))
		after, err := s.Versions(ctx, "a")
		ok(t, err)
		if len(before) != 1 || len(after) != 1 || before[0] != after[0] {
			t.Fatalf("before %+v, after %+v", before, after)
		}
		if got := read(t, s, "a", before[0].Revision); got != "one" {
			t.Fatalf("content %q", got)
		}
	}},
	{"VersionsGoOnAfterARemoval", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		put(t, s, "a", "1", backing.PutOptions{KeepVersion: true})
		put(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
		ok(t, s.Remove(ctx, "a", ""))
		put(t, s, "a", "3", backing.PutOptions{KeepVersion: true})
		put(t, s, "a", "4", backing.PutOptions{KeepVersion: true})
		list, err := s.Versions(ctx, "a")
		ok(t, err)
		if len(list) != 2 || list[0].N != 1 || list[1].N != 2 {
			t.Fatalf("versions %+v", list)
		}
	}},
	{"VersionsOfNothingAreNone", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		for _, key := range []backing.Key{"no", "no/no", "d"} {
			list, err := s.Versions(context.Background(), key)
			ok(t, err)
			if len(list) != 0 {
				t.Fatalf("versions of %s: %+v", key, list)
			}
		}
	}},
	{"VersionsOfAnObjectAndOfADirectoryBesideItAreApart", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		for _, key := range []backing.Key{"a", "d/a", "d/1"} {
			put(t, s, key, "1", backing.PutOptions{KeepVersion: true})
			put(t, s, key, "2", backing.PutOptions{KeepVersion: true})
			list, err := s.Versions(context.Background(), key)
			ok(t, err)
			if len(list) != 1 {
				t.Fatalf("versions of %s: %+v", key, list)
			}
		}
		_, err := s.OpenVersion(context.Background(), "d", 1)
		fails(t, err, backing.ErrNotFound)
	}},
}
