package storetest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"ctxfs/backing"
)

var uploadTests = []test{
	{"AnUploadIsSparseAndReadable", func(t *testing.T, s backing.Store) {
		u := newUpload(t, s)
		defer func() { ok(t, u.Close()) }()
		write(t, u, "end", 100)
		write(t, u, "start", 0)
		want := append([]byte("start"), make([]byte, 95)...)
		want = append(want, "end"...)
		got := make([]byte, 200)
		n, err := u.ReadAt(got, 0)
		if err != io.EOF || !bytes.Equal(got[:n], want) || u.Size() != 103 {
			t.Fatalf("read %q, %v; size %d", got[:n], err, u.Size())
		}
		ok(t, u.Truncate(2))
		if u.Size() != 2 {
			t.Fatalf("size %d", u.Size())
		}
	}},
	{"PutTakesAnUpload", func(t *testing.T, s backing.Store) {
		u := newUpload(t, s)
		body := strings.Repeat("upload ", 300_000)
		write(t, u, body, 0)
		put(t, s, "a", "old", backing.PutOptions{Mode: 0o640})
		m, err := s.Put(context.Background(), "a", u.(io.Reader), backing.PutOptions{KeepVersion: true, Op: "up-1"})
		ok(t, err)
		if m.Size != int64(len(body)) || m.Mode != 0o640 {
			t.Fatalf("meta %+v", m)
		}
		ok(t, u.Close())
		wantBody(t, s, "a", body)
	}},
	{"AnUploadAfterItsPutCannotChangeTheObject", func(t *testing.T, s backing.Store) {
		u := newUpload(t, s)
		write(t, u, "body", 0)
		m, err := s.Put(context.Background(), "a", u.(io.Reader), backing.PutOptions{})
		ok(t, err)
		if _, err := u.WriteAt([]byte("EVIL"), 0); err == nil {
			t.Fatal("a consumed upload was written")
		}
		if u.Truncate(0) == nil {
			t.Fatal("a consumed upload was truncated")
		}
		if _, err := s.Put(context.Background(), "b", u.(io.Reader), backing.PutOptions{}); err == nil {
			t.Fatal("a consumed upload was put again")
		}
		ok(t, u.Close())
		if got := read(t, s, "a", m.Revision); got != "body" {
			t.Fatalf("content %q", got)
		}
	}},
	{"AnUploadWhosePutConflictsCanBePutAgain", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "first", backing.PutOptions{})
		u := newUpload(t, s)
		write(t, u, "body", 0)
		for range 2 {
			_, err := s.Put(context.Background(), "a", u.(io.Reader), backing.PutOptions{If: backing.Absent, Op: "o1"})
			fails(t, err, backing.ErrExists)
			write(t, u, "more", 4)
		}
		_, err := s.Put(context.Background(), "b", u.(io.Reader), backing.PutOptions{If: backing.Absent})
		ok(t, err)
		ok(t, u.Close())
		wantBody(t, s, "a", "first")
		wantBody(t, s, "b", "bodymore")
	}},
	{"AClosedUploadIsGone", func(t *testing.T, s backing.Store) {
		u := newUpload(t, s)
		write(t, u, "body", 0)
		ok(t, u.Close())
		if _, err := u.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("a closed upload was written")
		}
		if _, err := s.Put(context.Background(), "a", u.(io.Reader), backing.PutOptions{}); err == nil {
			t.Fatal("a closed upload was put")
		}
		wantGone(t, s, "a")
	}},
}

// newUpload returns an upload, which must also be an io.Reader for Put.
func newUpload(t testing.TB, s backing.Store) backing.Upload {
	t.Helper()
	u, err := s.NewUpload(context.Background())
	ok(t, err)
	if _, is := u.(io.Reader); !is {
		t.Fatalf("%T cannot be given to Put: it is no io.Reader", u)
	}
	return u
}

func write(t testing.TB, w io.WriterAt, body string, off int64) {
	t.Helper()
	n, err := w.WriteAt([]byte(body), off)
	ok(t, err)
	if n != len(body) {
		t.Fatalf("%d of %d bytes written", n, len(body))
	}
}
