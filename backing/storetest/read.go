package storetest

import (
	"context"
	"io"
	"strings"
	"testing"

	"ctxfs/backing"
)

var readTests = []test{
	{"WhatIsMissingIsNotFound", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		put(t, s, "file", "x", backing.PutOptions{})
		for _, key := range []backing.Key{"no", "no/no", "file/no"} {
			_, err := s.Stat(ctx, key)
			fails(t, err, backing.ErrNotFound, backing.ErrNotDir)
			_, err = s.Open(ctx, key, "")
			fails(t, err, backing.ErrNotFound, backing.ErrNotDir)
		}
		_, err := s.Open(ctx, "file", "no-such-revision")
		fails(t, err, backing.ErrNotFound)
	}},
	{"TheTopIsADirectory", func(t *testing.T, s backing.Store) {
		m, err := s.Stat(context.Background(), "")
		ok(t, err)
		if !m.Dir || m.Key != "" {
			t.Fatalf("meta %+v", m)
		}
	}},
	{"OpenOfADirectoryIsRefused", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		_, err := s.Open(context.Background(), "d", "")
		fails(t, err, backing.ErrIsDir)
	}},
	{"ContentReadsAtEveryOffset", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "0123456789", backing.PutOptions{})
		c, err := s.Open(context.Background(), "a", "")
		ok(t, err)
		defer func() { ok(t, c.Close()) }()
		for _, r := range []struct {
			off  int64
			size int
			want string
			err  error
		}{
			{0, 10, "0123456789", nil}, {3, 4, "3456", nil}, {8, 4, "89", io.EOF}, {10, 1, "", io.EOF}, {99, 1, "", io.EOF},
		} {
			buf := make([]byte, r.size)
			n, err := c.ReadAt(buf, r.off)
			if err == io.EOF && r.err == nil && n == r.size { // allowed at the end
				err = nil
			}
			if string(buf[:n]) != r.want || err != r.err {
				t.Fatalf("ReadAt(%d, %d) = %q, %v", r.size, r.off, buf[:n], err)
			}
		}
	}},
	{"ContentStaysTheSameThroughPutRemoveAndAppend", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		put(t, s, "a", "old", backing.PutOptions{})
		open := func() backing.Content {
			c, err := s.Open(ctx, "a", "")
			ok(t, err)
			return c
		}
		one := open()
		_, err := s.Append(ctx, "a", []byte("+more"))
		ok(t, err)
		two := open()
		put(t, s, "a", "completely new", backing.PutOptions{})
		three := open()
		ok(t, s.Remove(ctx, "a", ""))
		for i, c := range []backing.Content{one, two, three} {
			want := []string{"old", "old+more", "completely new"}[i]
			buf := make([]byte, 100)
			if n, err := c.ReadAt(buf, 0); string(buf[:n]) != want || err != io.EOF {
				t.Fatalf("content %d is %q, %v, not %q", i, buf[:n], err, want)
			}
			if got := all(t, c); got != want {
				t.Fatalf("content %d is %q, not %q", i, got, want)
			}
		}
	}},
	{"ContentStaysReadableAfterClose", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "x", backing.PutOptions{})
		c, err := s.Open(context.Background(), "a", "")
		ok(t, err)
		ok(t, c.Close())
		if _, err := c.ReadAt(make([]byte, 1), 0); err == nil {
			t.Fatal("a closed content was read")
		}
	}},
}

var keyTests = []test{
	{"KeysMayHoldAnyByteButSlashAndNUL", func(t *testing.T, s backing.Store) {
		for _, name := range []string{" ", "ü", "\xff\xfe", "a\nb", "..a", "...", "~", "#x#", "-", `\`, strings.Repeat("n", 255)} {
			put(t, s, backing.Key(name), name, backing.PutOptions{KeepVersion: true})
			put(t, s, backing.Key(name), name+"2", backing.PutOptions{KeepVersion: true})
			wantBody(t, s, backing.Key(name), name+"2")
			list, err := s.Versions(context.Background(), backing.Key(name))
			ok(t, err)
			if len(list) != 1 {
				t.Fatalf("%q has versions %+v", name, list)
			}
		}
	}},
	{"WhatIsNoKeyIsRefusedEverywhere", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		long := backing.Key(strings.Repeat("n", 256))
		for _, key := range []backing.Key{"/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\x00b", long, "a/" + long} {
			want := []error{backing.ErrBadKey, backing.ErrNameTooLong}
			_, err := s.Stat(ctx, key)
			fails(t, err, want...)
			_, err = s.List(ctx, key, "", 1)
			fails(t, err, want...)
			_, err = s.Open(ctx, key, "")
			fails(t, err, want...)
			fails(t, tryPut(s, key, "x", backing.PutOptions{}), want...)
			_, err = s.Append(ctx, key, []byte("x"))
			fails(t, err, want...)
			fails(t, s.Remove(ctx, key, ""), want...)
			_, err = s.MakeDir(ctx, key, 0o755)
			fails(t, err, want...)
			fails(t, s.RemoveDir(ctx, key), want...)
			_, err = s.Versions(ctx, key)
			fails(t, err, want...)
			_, err = s.SetAttr(ctx, key, backing.AttrChange{})
			fails(t, err, want...)
		}
	}},
	{"TheTopIsNotWritten", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		if tryPut(s, "", "x", backing.PutOptions{}) == nil || s.Remove(ctx, "", "") == nil || s.RemoveDir(ctx, "") == nil {
			t.Fatal("the top directory was written or removed")
		}
	}},
	{"KeysBelowOwnWorkWithoutMakingDirectories", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		log := backing.Key(backing.Own + "/log/refusals")
		_, err := s.Append(ctx, log, []byte("1\n"))
		ok(t, err)
		ok(t, s.Sync(ctx, log))
		put(t, s, backing.Own+"/vars/deep/er/x", "v", backing.PutOptions{})
		wantBody(t, s, log, "1\n")
		wantBody(t, s, backing.Own+"/vars/deep/er/x", "v")
		ok(t, s.Remove(ctx, log, ""))
		wantGone(t, s, log)
		list, err := s.List(ctx, "", "", 10)
		ok(t, err)
		if len(list) != 0 {
			t.Fatalf("the top shows %+v", list)
		}
	}},
}
