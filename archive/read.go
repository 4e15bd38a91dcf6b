package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ctxfs/backing"
)

// List returns the archives of a store, the oldest first.
func List(ctx context.Context, store backing.Store) ([]Info, error) {
	const page = 512
	var all []Info
	for after := ""; ; {
		metas, err := store.List(ctx, Dir, after, page)
		if errors.Is(err, backing.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the archives: %w", err)
		}
		for _, m := range metas {
			after = m.Key.Name()
			if strings.HasSuffix(after, End) && !m.Dir {
				all = append(all, Info{after, m.Size, m.ModTime})
			}
		}
		if len(metas) < page {
			slices.SortStableFunc(all, func(a, b Info) int { return a.Created.Compare(b.Created) })
			return all, nil
		}
	}
}

// Read calls each for every member of an archive, in their order; content is
// good until each returns. An error of each ends it and is returned as it is.
// backing.ErrNotFound where there is no such archive.
func Read(ctx context.Context, store backing.Store, name string, each func(m Member, content io.Reader) error) error {
	name = strings.TrimSuffix(name, End) + End
	c, err := store.Open(ctx, Dir.Join(name), "")
	if err != nil {
		return fmt.Errorf("open the archive %s: %w", name, err)
	}
	defer c.Close()
	z, err := zstd.NewReader(io.NewSectionReader(c, 0, c.Size()), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("read the archive %s: %w", name, err)
	}
	defer z.Close()
	for t := tar.NewReader(z); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if err == io.EOF {
			// What stands behind the end must be readable too.
			if _, err = io.Copy(io.Discard, z); err == nil {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("the archive %s is damaged: %w", name, err)
		}
		if err := each(memberOf(h), t); err != nil {
			return err
		}
	}
}

func memberOf(h *tar.Header) Member {
	return Member{Path: strings.TrimSuffix(h.Name, "/"), Dir: h.Typeflag == tar.TypeDir, Size: h.Size, ModTime: h.ModTime,
		Mode: fs.FileMode(h.Mode).Perm(), UID: uint32(h.Uid), GID: uint32(h.Gid)}
}

// verify reads the archive and compares it with what was added.
func verify(ctx context.Context, store backing.Store, name string, want []sum) error {
	n := 0
	err := Read(ctx, store, name, func(m Member, content io.Reader) error {
		if n >= len(want) {
			return fmt.Errorf("%s was not added to it", m.Path)
		}
		w := want[n]
		n++
		hash := sha256.New()
		size, err := io.Copy(hash, content)
		switch {
		case err != nil:
			return fmt.Errorf("read %s in it: %w", m.Path, err)
		case m.Path != w.Path || m.Dir != w.Dir || m.Mode != w.Mode.Perm() || m.UID != w.UID || m.GID != w.GID || !m.ModTime.Equal(w.ModTime):
			return fmt.Errorf("%s stands where %s belongs", m.Path, w.Path)
		case size != w.Size && !w.Dir || [sha256.Size]byte(hash.Sum(nil)) != w.hash:
			return fmt.Errorf("%s has other bytes", m.Path)
		}
		return nil
	})
	if err == nil && n < len(want) {
		err = fmt.Errorf("%s is missing", want[n].Path)
	}
	return err
}
