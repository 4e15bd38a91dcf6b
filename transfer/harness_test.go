package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/backing/postgres"
	"ctxfs/backing/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Options{}) }

// kinds of stores, each opened empty.
var kinds = map[string]func(t *testing.T) Store{
	"directory": func(t *testing.T) Store {
		s, err := localdir.Open(t.TempDir(), localdir.Options{Log: slog.New(slog.DiscardHandler)})
		ok(t, err)
		return closing(t, s)
	},
	"database": func(t *testing.T) Store {
		return openDatabase(t, pgtest.Schema(t))
	},
}

func openDatabase(t *testing.T, url string) Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{Timeout: time.Minute, Cache: -1})
	ok(t, err)
	return closing(t, s)
}

func closing(t *testing.T, s Store) Store {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func all(key backing.Key) bool { return key != "left" && key != backing.Own+"/log" }

// when is a time with nanoseconds, n hours on.
func when(n int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC).Add(time.Duration(n) * time.Hour)
}

func put(t *testing.T, s backing.Store, key backing.Key, text string, o backing.PutOptions) backing.Meta {
	t.Helper()
	m, err := s.Put(context.Background(), key, strings.NewReader(text), o)
	ok(t, err)
	return m
}

func dirs(t *testing.T, s backing.Store, keys ...backing.Key) {
	t.Helper()
	for _, key := range keys {
		_, err := s.MakeDir(t.Context(), key, 0o750)
		ok(t, err)
	}
}

// fill lays something of everything into a store, and returns how many objects
// and versions that is.
func fill(t *testing.T, s backing.Store) (objects, versions int) {
	t.Helper()
	dirs(t, s, "alice", "alice/s1", "alice/s1/deep", "alice/bare", "vars", "vars/global", backing.Own+"/archives")
	for n, text := range []string{"first", "second", "third"} {
		put(t, s, "alice/e.md", text, backing.PutOptions{KeepVersion: true, ModTime: when(n), Mode: 0o640})
	}
	put(t, s, "alice/s1/\xff name", "", backing.PutOptions{ModTime: when(5), Mode: 0o400})
	put(t, s, "alice/s1/deep/x", "x", backing.PutOptions{ModTime: when(6)})
	put(t, s, "vars/global/big", string(random(3<<20+17)), backing.PutOptions{ModTime: when(7), Mode: 0o600})
	put(t, s, backing.Own+"/archives/a.tar.zst", "archive", backing.PutOptions{ModTime: when(8)})
	for range 3 {
		_, err := s.Append(t.Context(), "vars/global/log", []byte("line\n"))
		ok(t, err)
	}
	for _, n := range []int{2, 5} { // of what is gone, with gaps
		v := backing.Version{N: n, ModTime: when(-n), Mode: 0o604, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
		ok(t, s.RestoreVersion(t.Context(), "alice/gone.md", v, strings.NewReader(fmt.Sprint("gone ", n))))
	}
	var c backing.AttrChange
	if os.Geteuid() == 0 {
		uid, gid := uint32(4711), uint32(4712)
		c.UID, c.GID = &uid, &gid
	}
	mode := os.FileMode(0o555)
	c.Mode = &mode
	for _, key := range []backing.Key{"alice/bare", "alice/s1/deep/x"} {
		_, err := s.SetAttr(t.Context(), key, c)
		ok(t, err)
	}
	return 6, 4
}

// random is bytes that do not repeat in blocks.
func random(n int) []byte {
	b := make([]byte, 0, n+sha256.Size)
	for sum := sha256.Sum256(nil); len(b) < n; sum = sha256.Sum256(sum[:]) {
		b = append(b, sum[:]...)
	}
	return b[:n]
}

// contents is all that is in a store: what each thing is, by its key.
func contents(t *testing.T, s Store) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, dir := range []backing.Key{"", backing.Own} {
		ok(t, each(t.Context(), s, dir, func(of backing.Meta) error {
			if all(of.Key) && of.Key != markKey {
				describe(t, s, of, m)
			}
			return nil
		}))
	}
	ok(t, s.Versioned(t.Context(), func(key backing.Key) error {
		list, err := s.Versions(t.Context(), key)
		for _, v := range list {
			c, err := s.OpenVersion(t.Context(), key, v.N)
			ok(t, err)
			m[fmt.Sprintf("%s/%d", key, v.N)] = fmt.Sprintf("%v %d:%d %d %x", v.Mode, v.UID, v.GID, v.ModTime.UnixNano(), sum(t, c))
		}
		return err
	}))
	return m
}

func describe(t *testing.T, s Store, of backing.Meta, m map[string]string) {
	t.Helper()
	m[string(of.Key)] = fmt.Sprintf("%v %d:%d %d", of.Mode, of.UID, of.GID, of.ModTime.UnixNano())
	if of.Dir {
		ok(t, each(t.Context(), s, of.Key, func(in backing.Meta) error {
			describe(t, s, in, m)
			return nil
		}))
		return
	}
	c, err := s.Open(t.Context(), of.Key, of.Revision)
	ok(t, err)
	m[string(of.Key)] += fmt.Sprintf(" %x", sum(t, c))
}

func sum(t *testing.T, c backing.Content) []byte {
	t.Helper()
	b := make([]byte, c.Size())
	ok(t, readFull(c, b, 0))
	ok(t, c.Close())
	s := sha256.Sum256(b)
	return s[:8]
}

func wantSame(t *testing.T, src, dst Store) {
	t.Helper()
	want, got := contents(t, src), contents(t, dst)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%q is %q, in the source %q", key, got[key], want[key])
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("%q is not in the source", key)
	}
}

// copyTo begins a copy and runs it.
func copyTo(t *testing.T, src, dst Store, o Options) (Stats, error) {
	t.Helper()
	_, err := Begin(t.Context(), src, dst, "src", all)
	ok(t, err)
	o.Part, o.Owners = all, true
	return Run(t.Context(), src, dst, o)
}

// spoiling is a store that keeps other bytes than it is given.
type spoiling struct{ Store }

func (s spoiling) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(r)
	if key == "vars/global/big" {
		b.Bytes()[1<<20] ^= 1
	}
	m, perr := s.Store.Put(ctx, key, &b, o)
	return m, errors.Join(err, perr)
}
