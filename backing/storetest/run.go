// Package storetest is what every implementation of backing.Store, and of
// backing.Files, must pass. A new one calls [Run] with a function that opens
// an empty store:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) backing.Store { … })
//	}
//
// Each case gets a store of its own, closes it, and ends in a check that what
// lies in the store agrees with itself and that no descriptor is left open.
// The cases must not run beside others in the process.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"ctxfs/backing"
)

// Deadline bounds every wait for an event.
const Deadline = 10 * time.Second

// test is one case: a promise and how it is checked.
type test struct {
	promise string
	check   func(t *testing.T, s backing.Store)
}

// Run checks the promises of backing.Store. open returns an empty store that
// may be written; Run closes it.
func Run(t *testing.T, open func(t testing.TB) backing.Store) {
	for _, group := range [][]test{
		putTests, conditionTests, readTests, listTests, dirTests, appendTests,
		attrTests, versionTests, discardTests, uploadTests, concurrentTests, watchTests, keyTests,
	} {
		runGroup(t, open, group)
	}
}

// RunFiles checks the promises of backing.Files, which the store must be.
func RunFiles(t *testing.T, open func(t testing.TB) backing.Store) {
	for _, group := range [][]test{fileTests, linkTests, renameTests} {
		runGroup(t, open, group)
	}
}

func runGroup(t *testing.T, open func(t testing.TB) backing.Store, group []test) {
	startPoller(t)
	for _, c := range group {
		t.Run(c.promise, func(t *testing.T) {
			before := descriptors(t)
			s := open(t)
			c.check(t, s)
			CheckConsistent(t, s)
			ok(t, s.Close())
			awaitDescriptors(t, before)
		})
	}
}

// startPoller makes the Go runtime open what it opens once per process.
func startPoller(t testing.TB) {
	r, w, err := os.Pipe()
	ok(t, err)
	ok(t, r.Close())
	ok(t, w.Close())
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	ok(t, err)
	return len(list)
}

func awaitDescriptors(t testing.TB, want int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(Deadline); ; <-tick.C {
		got := descriptors(t)
		if got <= want { // fewer where a connection of the test before had not quite ended
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d descriptors are open, there were %d", got, want)
		}
	}
}

// CheckConsistent walks the store and compares what List, Stat, Open and
// Versions say of each object.
func CheckConsistent(t testing.TB, s backing.Store) {
	t.Helper()
	checkDir(t, s, "")
}

func checkDir(t testing.TB, s backing.Store, dir backing.Key) {
	t.Helper()
	ctx := context.Background()
	after := ""
	for {
		page, err := s.List(ctx, dir, after, 100)
		ok(t, err)
		for _, m := range page {
			if m.Key.Name() <= after || m.Key.Dir() != dir {
				t.Fatalf("listing %q after %q shows %q", dir, after, m.Key)
			}
			after = m.Key.Name()
			checkMember(t, s, m)
		}
		if len(page) < 100 {
			return
		}
	}
}

func checkMember(t testing.TB, s backing.Store, m backing.Meta) {
	t.Helper()
	ctx := context.Background()
	got, err := s.Stat(ctx, m.Key)
	ok(t, err)
	if got != m {
		t.Fatalf("Stat says %+v, List %+v", got, m)
	}
	if m.Dir {
		checkDir(t, s, m.Key)
	}
	if m.Dir || m.Link || m.Special {
		return
	}
	if body := read(t, s, m.Key, m.Revision); int64(len(body)) != m.Size {
		t.Fatalf("%s has %d bytes, its Meta says %d", m.Key, len(body), m.Size)
	}
	list, err := s.Versions(ctx, m.Key)
	ok(t, err)
	for i, v := range list {
		if i > 0 && v.N <= list[i-1].N || v.N < 1 {
			t.Fatalf("versions of %s: %+v", m.Key, list)
		}
		if v.Revision == m.Revision {
			t.Fatalf("version %d of %s has the current revision", v.N, m.Key)
		}
		one, err := s.StatVersion(ctx, m.Key, v.N)
		ok(t, err)
		if one != v {
			t.Fatalf("StatVersion says %+v, Versions %+v", one, v)
		}
		c, err := s.OpenVersion(ctx, m.Key, v.N)
		ok(t, err)
		if body := all(t, c); int64(len(body)) != v.Size {
			t.Fatalf("version %d of %s has %d bytes, not %d", v.N, m.Key, len(body), v.Size)
		}
		_, err = s.StatVersion(ctx, m.Key, list[len(list)-1].N+1)
		fails(t, err, backing.ErrNotFound)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails demands that err is one of want.
func fails(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Fatalf("error is %v, not %v", err, want)
}

func put(t testing.TB, s backing.Store, key backing.Key, body string, o backing.PutOptions) backing.Meta {
	t.Helper()
	m, err := s.Put(context.Background(), key, strings.NewReader(body), o)
	ok(t, err)
	return m
}

func tryPut(s backing.Store, key backing.Key, body string, o backing.PutOptions) error {
	_, err := s.Put(context.Background(), key, strings.NewReader(body), o)
	return err
}

// read returns the content of key at rev, and closes it.
func read(t testing.TB, s backing.Store, key backing.Key, rev backing.Revision) string {
	t.Helper()
	c, err := s.Open(context.Background(), key, rev)
	ok(t, err)
	return all(t, c)
}

// all returns the bytes of c, and closes it.
func all(t testing.TB, c backing.Content) string {
	t.Helper()
	var b bytes.Buffer
	_, err := io.Copy(&b, io.NewSectionReader(c, 0, c.Size()))
	ok(t, err)
	ok(t, c.Close())
	return b.String()
}

func wantBody(t testing.TB, s backing.Store, key backing.Key, want string) {
	t.Helper()
	if got := read(t, s, key, ""); got != want {
		t.Fatalf("%s holds %.100q, not %.100q", key, got, want)
	}
}

func makeDir(t testing.TB, s backing.Store, key backing.Key) {
	t.Helper()
	_, err := s.MakeDir(context.Background(), key, 0o755)
	ok(t, err)
}

func wantGone(t testing.TB, s backing.Store, key backing.Key) {
	t.Helper()
	_, err := s.Stat(context.Background(), key)
	fails(t, err, backing.ErrNotFound)
}
