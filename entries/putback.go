package entries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// Putback is a file that was taken out of the store and comes back.
type Putback struct {
	Path    string      // from the top of the store
	Mode    fs.FileMode // permission bits
	DirMode fs.FileMode // of its directory, where that has to be made; 0 is 0o755
	Owner   room.Caller // its UID and GID are given back where that is allowed
}

// PutBack brings back an entry or another file with the bytes of r. It counts
// as changed now, so that housekeeping does not take it out again at once.
// A *codec.Refusal with EEXIST where there is a file of that name.
func (e *Entries) PutBack(ctx context.Context, b Putback, r io.Reader) error {
	p, err := e.placeBack(ctx, b)
	if err != nil {
		return err
	}
	defer e.paths.lock(p.path)()
	if _, ok := e.pendingInfo(p.path); ok {
		return inTheWay(p)
	}
	m, err := e.store.Put(ctx, p.key(), r, backing.PutOptions{If: backing.Absent, Mode: b.Mode})
	if errors.Is(err, backing.ErrExists) {
		return inTheWay(p)
	}
	if err != nil {
		return fmt.Errorf("put back %s: %w", p.path, err)
	}
	if m.UID != b.Owner.UID || m.GID != b.Owner.GID {
		_, err = e.store.SetAttr(ctx, p.key(), backing.AttrChange{UID: &b.Owner.UID, GID: &b.Owner.GID})
		if err != nil {
			e.o.Log.Info("a file that came back has another owner", "path", p.path, "err", err)
		}
	}
	e.changed(p.path)
	return nil
}

// placeBack checks that b belongs into this room, and makes its directory.
func (e *Entries) placeBack(ctx context.Context, b Putback) (place, error) {
	p, err := placeOf(b.Path)
	if err == nil {
		err = p.checkFile()
	}
	if err != nil || !agentName(p.agent) {
		return p, &codec.Refusal{Errno: syscall.EINVAL, Path: b.Path, Reason: "it is no place for an entry or a file of an agent",
			Fix: "take it out of the archive with tar"}
	}
	mode := b.DirMode
	if mode == 0 {
		mode = 0o755
	}
	for _, dir := range []backing.Key{backing.Key(p.agent), backing.Key(p.dir)} {
		_, err := e.store.MakeDir(ctx, dir, mode)
		if err == nil {
			e.changed(string(dir))
		} else if !errors.Is(err, backing.ErrExists) {
			return p, fmt.Errorf("put back %s: %w", p.path, err)
		}
	}
	return p, nil
}

func inTheWay(p place) error {
	return &codec.Refusal{Errno: syscall.EEXIST, Path: p.path, Reason: "there is a file of that name, and nothing is replaced",
		Fix: "leave it, or read the archived one with `tar --zstd -xOf`"}
}

// PutBackVersion brings back version n of the entry at path, as it was.
// backing.ErrExists where there is a version n.
func (e *Entries) PutBackVersion(ctx context.Context, path string, v backing.Version, r io.Reader) error {
	p, err := placeOf(path)
	if err != nil || !p.isEntry() {
		return fmt.Errorf("put back a version of %q, which is no entry", path)
	}
	return e.store.RestoreVersion(ctx, p.key(), v, r)
}
