package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

var noon = time.Date(2026, 3, 22, 12, 0, 0, 0, time.UTC)

// lossy is a store that puts something else than it is given.
type lossy struct {
	*localdir.Store
	spoil func([]byte) []byte // nil: nothing
}

func (s *lossy) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return backing.Meta{}, err
	}
	if s.spoil != nil {
		text = s.spoil(text)
	}
	return s.Store.Put(ctx, key, bytes.NewReader(text), o)
}

func newStore(t *testing.T) *lossy {
	t.Helper()
	s, err := localdir.Open(t.TempDir(), localdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lossy{Store: s}
}

var members = []Member{
	{Path: "alice", Dir: true, ModTime: noon, Mode: 0o750},
	{Path: "alice/20260221T143022-x.md", Size: 5, ModTime: noon.Add(123456789), Mode: 0o600, UID: 7, GID: 8},
	{Path: "alice/ümlaut \xff " + strings.Repeat("long", 50), Size: 0, ModTime: noon, Mode: 0o644},
	{Path: ".ctxfs/versions/alice/20260221T143022-x.md/1", Size: 5, ModTime: noon.Add(-time.Hour), Mode: 0o600},
}

// fill adds them; files hold "12345".
func fill(w *Writer) error {
	for _, m := range members {
		if err := w.Add(m, strings.NewReader("12345"[:m.Size])); err != nil {
			return err
		}
	}
	return nil
}

func TestAnArchiveHoldsWhatWasAdded(t *testing.T) {
	s := newStore(t)
	for _, want := range []string{"20260322T120000Z.tar.zst", "20260322T120000Z-2.tar.zst"} {
		info, err := Create(t.Context(), s, noon, fill)
		if err != nil || info.Name != want || info.Bytes == 0 {
			t.Fatalf("%+v, %v, want %s", info, err, want)
		}
	}
	n := 0
	err := Read(t.Context(), s, "20260322T120000Z", func(m Member, content io.Reader) error {
		text, err := io.ReadAll(content)
		if err != nil || !m.ModTime.Equal(members[n].ModTime) {
			t.Errorf("%+v, %v", m, err)
		}
		m.ModTime = members[n].ModTime
		if m != members[n] || string(text) != "12345"[:m.Size] {
			t.Errorf("%+v with %q, want %+v", m, text, members[n])
		}
		n++
		return nil
	})
	if err != nil || n != len(members) {
		t.Errorf("%d members, %v", n, err)
	}
	all, err := List(t.Context(), s)
	if err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestWithoutArchivesThereAreNone(t *testing.T) {
	s := newStore(t)
	if all, err := List(t.Context(), s); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	for _, name := range []string{"no", "../../vars/x"} {
		if err := Read(t.Context(), s, name, nil); !errors.Is(err, backing.ErrNotFound) && !errors.Is(err, backing.ErrBadKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wantNone checks that nothing is left of an archive that was not made.
func wantNone(t *testing.T, s *lossy) {
	t.Helper()
	if all, err := List(t.Context(), s); err != nil || len(all) > 0 {
		t.Errorf("there are %v, %v", all, err)
	}
}

func TestAnArchiveThatIsNotWhatWasWrittenIsAnError(t *testing.T) {
	spoilt := map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)-20] },
		"empty":   func(b []byte) []byte { return nil },
		"zeros":   func(b []byte) []byte { return make([]byte, len(b)) },
		"of other members": func([]byte) []byte {
			return compressed(t, func(w *Writer) error { return w.Add(members[0], nil) })
		},
		"of other bytes": func([]byte) []byte {
			return compressed(t, func(w *Writer) error {
				for _, m := range members {
					if err := w.Add(m, strings.NewReader("54321"[:m.Size])); err != nil {
						return err
					}
				}
				return nil
			})
		},
		"longer": func([]byte) []byte {
			return compressed(t, func(w *Writer) error { return errors.Join(fill(w), fill(w)) })
		},
	}
	for n := range 40 {
		spoilt["one bit other"+strings.Repeat("'", n)] = func(b []byte) []byte {
			was := unpacked(b)
			for at := n * len(b) / 40; ; at++ {
				b[at] ^= 1 << (n % 8)
				if !bytes.Equal(unpacked(b), was) { // some bits mean nothing
					return b
				}
			}
		}
	}
	s := newStore(t)
	for name, spoil := range spoilt {
		s.spoil = spoil
		if info, err := Create(t.Context(), s, noon, fill); err == nil {
			t.Errorf("%s: %+v", name, info)
		}
		wantNone(t, s)
	}
}

// unpacked is what b decompresses to, nil for nothing.
func unpacked(b []byte) []byte {
	z, err := zstd.NewReader(nil)
	if err != nil {
		return nil
	}
	defer z.Close()
	text, err := z.DecodeAll(b, nil)
	if err != nil {
		return nil
	}
	return text
}

func compressed(t *testing.T, fill func(w *Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := compress(&b, fill); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnArchiveThatCannotBeFilledIsNotMade(t *testing.T) {
	s := newStore(t)
	broken := errors.New("broken")
	for name, fill := range map[string]func(w *Writer) error{
		"at once":   func(*Writer) error { return broken },
		"half way":  func(w *Writer) error { return errors.Join(fill(w), broken) },
		"too short": func(w *Writer) error { return w.Add(members[1], strings.NewReader("1234")) },
	} {
		if _, err := Create(t.Context(), s, noon, fill); !errors.Is(err, broken) && !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		wantNone(t, s)
	}
}

func TestAStoreThatTakesNoArchiveIsToldOf(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Create(ctx, s.Store, noon, func(w *Writer) error {
		cancel()
		for range 1000 { // more than the pipe and the compressor hold back
			if err := w.Add(Member{Path: "x", Size: 1 << 20}, endless{}); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantNone(t, s)
}

// endless is bytes that cannot be compressed well.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	x := uint32(1)
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return len(p), nil
}
