package room

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

func newStore(t *testing.T) *localdir.Store {
	t.Helper()
	s, err := localdir.Open(t.TempDir(), localdir.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newBuffer(t *testing.T) *Buffer {
	t.Helper()
	b := NewBuffer(newStore(t))
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func content(t *testing.T, b *Buffer) []byte {
	t.Helper()
	p, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every change of a sparse buffer is the same in memory and in an upload.
func TestBufferBehavesLikeAFileOnBothSidesOfItsMemory(t *testing.T) {
	for name, base := range map[string]int64{"memory": 0, "across": BufferMemory - 6, "upload": BufferMemory + 10} {
		t.Run(name, func(t *testing.T) {
			b := newBuffer(t)
			want := make([]byte, base)
			step := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if got := content(t, b); !bytes.Equal(got, want) || b.Size() != int64(len(want)) {
					t.Fatalf("%s: %d bytes, want %d; equal %v", what, len(got), len(want), bytes.Equal(got, want))
				}
			}
			step("grow", b.Truncate(base))
			_, err := b.Append([]byte("abc"))
			want = append(want, "abc"...)
			step("append", err)
			_, err = b.WriteAt([]byte("xyz"), base+8)
			want = append(want, "\x00\x00\x00\x00\x00xyz"...)
			step("write behind a hole", err)
			_, err = b.WriteAt([]byte("B"), base+1)
			want[base+1] = 'B'
			step("overwrite", err)
			want = want[:base+2]
			step("cut", b.Truncate(base+2))
			want = append(want, 0, 0, 0)
			step("grow again", b.Truncate(base+5))
			got, err := io.ReadAll(b.Reader())
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("the reader gives %d bytes, %v", len(got), err)
			}
			if n, err := b.ReadAt(make([]byte, 4), base+3); n != 2 || err != io.EOF {
				t.Errorf("read across the end: %d, %v", n, err)
			}
		})
	}
}

func TestBufferKeepsAppendsWhole(t *testing.T) {
	b := newBuffer(t)
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if _, err := b.Append(line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := content(t, b); !bytes.Equal(got, bytes.Repeat(line, 1600)) {
		t.Errorf("%d bytes, not all of them whole lines", len(got))
	}
}

func TestBufferBecomesAnUploadOfTheStore(t *testing.T) {
	s := newStore(t)
	for _, size := range []int{10, 2 * BufferMemory} {
		b := NewBuffer(s)
		want := bytes.Repeat([]byte("z"), size)
		if _, err := b.WriteAt(want, 0); err != nil {
			t.Fatal(err)
		}
		up, err := b.Upload()
		if err != nil {
			t.Fatal(err)
		}
		if b.Size() != 0 {
			t.Errorf("the buffer still has %d bytes", b.Size())
		}
		got := make([]byte, up.Size())
		if _, err := up.ReadAt(got, 0); err != nil && err != io.EOF || !bytes.Equal(got, want) {
			t.Errorf("the upload has %d bytes, %v", len(got), err)
		}
		if err := errors.Join(up.Close(), b.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		if _, err := b.WriteAt(want, 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("write to a closed buffer: %v", err)
		}
	}
}

func TestBufferRefusesNegativePositions(t *testing.T) {
	b := newBuffer(t)
	if _, err := b.WriteAt([]byte("x"), -1); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	if err := b.Truncate(-1); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	if _, err := b.ReadAt(make([]byte, 1), -1); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}

// noUploads is a store that has no room.
type noUploads struct{ backing.Store }

var errFull = errors.New("full")

func (noUploads) NewUpload(context.Context) (backing.Upload, error) { return nil, errFull }

func TestBufferThatCannotSpillKeepsWhatItHas(t *testing.T) {
	b := NewBuffer(noUploads{})
	if _, err := b.WriteAt([]byte("abc"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteAt([]byte("x"), BufferMemory); !errors.Is(err, errFull) {
		t.Errorf("spilled to a full store: %v", err)
	}
	if got := content(t, b); string(got) != "abc" {
		t.Errorf("holds %q", got)
	}
}
