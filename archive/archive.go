package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"ctxfs/backing"
	"ctxfs/room"
)

// Dir is where archives lie in a store.
const Dir backing.Key = backing.Own + "/archives"

// End is that of the name of every archive.
const End = ".tar.zst"

// Member is a file or directory in an archive.
type Member struct {
	Path     string // from the top of the store
	Dir      bool
	Size     int64 // bytes
	ModTime  time.Time
	Mode     fs.FileMode // permission bits
	UID, GID uint32
}

// Info describes an archive.
type Info struct {
	Name    string    // below Dir
	Bytes   int64     // compressed
	Created time.Time // when it was put
}

// sum is what a member must read as.
type sum struct {
	Member
	hash [sha256.Size]byte
}

// Writer takes the members of an archive that is being made.
type Writer struct {
	tar  *tar.Writer
	sums []sum
}

// Add adds m with its content, of exactly m.Size bytes; nil for a directory.
func (w *Writer) Add(m Member, content io.Reader) error {
	h := &tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: m.Path, Size: m.Size, ModTime: m.ModTime,
		Mode: int64(m.Mode.Perm()), Uid: int(m.UID), Gid: int(m.GID)}
	if m.Dir {
		h.Typeflag, h.Name, h.Size = tar.TypeDir, m.Path+"/", 0
		content = strings.NewReader("")
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("archive %s: %w", m.Path, err)
	}
	hash := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, hash), content, h.Size); err != nil {
		return fmt.Errorf("archive %s: %w", m.Path, err)
	}
	w.sums = append(w.sums, sum{m, [sha256.Size]byte(hash.Sum(nil))})
	return nil
}

// nameTries bounds how often an archive is made again because another host has
// just made one of its name.
const nameTries = 16

// Create makes an archive named after now of what fill adds, and verifies it.
// fill is called again where another host was faster with the name. Where it
// returns an error there is no archive, or one that nobody needs.
func Create(ctx context.Context, store backing.Store, now time.Time, fill func(w *Writer) error) (info Info, err error) {
	if err := room.MakeOwnDir(ctx, store, Dir); err != nil {
		return Info{}, err
	}
	for range nameTries {
		if info, err = create(ctx, store, now, fill); !errors.Is(err, backing.ErrExists) {
			break
		}
	}
	return info, err
}

// create is Create but for the other host.
func create(ctx context.Context, store backing.Store, now time.Time, fill func(w *Writer) error) (Info, error) {
	name, err := freeName(ctx, store, now)
	if err != nil {
		return Info{}, err
	}
	m, sums, err := put(ctx, store, Dir.Join(name), fill)
	if err != nil {
		return Info{}, fmt.Errorf("make the archive %s: %w", name, err)
	}
	if err := verify(ctx, store, name, sums); err != nil {
		err = fmt.Errorf("the archive %s is not what was written, so nothing was removed: %w", name, err)
		return Info{}, errors.Join(err, store.Remove(context.WithoutCancel(ctx), m.Key, m.Revision))
	}
	return Info{name, m.Size, m.ModTime}, nil
}

// freeName is the time, and a number where there is an archive of this second.
func freeName(ctx context.Context, store backing.Store, now time.Time) (string, error) {
	at := now.UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		name := at + End
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", at, n, End)
		}
		_, err := store.Stat(ctx, Dir.Join(name))
		if errors.Is(err, backing.ErrNotFound) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// put writes the archive into the store while fill adds to it.
func put(ctx context.Context, store backing.Store, key backing.Key, fill func(w *Writer) error) (m backing.Meta, sums []sum, err error) {
	from, to := io.Pipe()
	filled := make(chan []sum, 1)
	go func() {
		sums, err := compress(to, fill)
		filled <- sums
		to.CloseWithError(err)
	}()
	m, err = store.Put(ctx, key, from, backing.PutOptions{If: backing.Absent, Mode: 0o600})
	// Where the store gave up early fill is told so.
	from.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	return m, <-filled, err
}

// window bounds the memory that one archive takes, in bytes, here and in
// whoever reads it.
const window = 1 << 20

func compress(to io.Writer, fill func(w *Writer) error) ([]sum, error) {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	w := &Writer{tar: tar.NewWriter(z)}
	if err := fill(w); err != nil {
		return nil, err
	}
	return w.sums, errors.Join(w.tar.Close(), z.Close())
}
