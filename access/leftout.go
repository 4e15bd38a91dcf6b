package access

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/memories"
	"ctxfs/room"
	"ctxfs/transfer"
)

// What only the host that has it can finish, and why it is not copied.
const (
	leftOutbox    = "entries wait there for the backend of the memories: mount the source with --memory-backend until it has them"
	leftSupersede = "superseded entries are still to be marked: mount the source, which does that, and copy again"
	leftOnHost    = "it has files of this host that are no entries (drafts, attachments): copy those that you need yourself"
)

// leaveUndone tells what of the source at l a copy cannot take along.
func leaveUndone(ctx context.Context, l Location, src transfer.Store, part func(backing.Key) bool, leave func(path, why string)) error {
	if l.Remote() {
		waits, err := memories.Undelivered(ctx, src)
		if err != nil {
			return err
		}
		if waits {
			leave(string(memories.DeliveriesDir), leftOutbox)
		}
		return leaveLocal(l, leave)
	}
	if part(memories.OutboxDir.Dir()) {
		return nil
	}
	waits, err := holdsFiles(ctx, src, memories.OutboxDir)
	if err != nil {
		return err
	}
	if waits {
		leave(string(memories.OutboxDir), leftOutbox)
	}
	_, err = src.Stat(ctx, entries.IntentsKey)
	if err == nil {
		leave(string(entries.IntentsKey), leftSupersede)
	}
	if errors.Is(err, backing.ErrNotFound) {
		return nil
	}
	return err
}

// holdsFiles reports whether there is a file in or below dir.
func holdsFiles(ctx context.Context, store backing.Store, dir backing.Key) (any bool, err error) {
	err = room.Each(ctx, store, dir, func(m backing.Meta) (err error) {
		switch {
		case any:
		case m.Dir:
			any, err = holdsFiles(ctx, store, m.Key)
		default:
			any = true
		}
		return err
	})
	return any, err
}

// leaveLocal tells of what lies in the directories that this host has for the
// database at l.
func leaveLocal(l Location, leave func(path, why string)) error {
	dirs, err := filepath.Glob(filepath.Join(l.home(), "*", backing.Own))
	if err != nil {
		return err
	}
	for _, own := range dirs {
		dir := filepath.Dir(own)
		for _, u := range []struct {
			key backing.Key
			why string
		}{{memories.OutboxDir, leftOutbox}, {entries.IntentsKey, leftSupersede}, {"", leftOnHost}} {
			top := filepath.Join(dir, string(u.key))
			if any, err := anyFile(top); err != nil {
				return err
			} else if any {
				leave(top, u.why)
			}
		}
	}
	return nil
}

// anyFile reports whether top is a file, or has one in or below it that is
// neither ctxfs's own nor a result.
func anyFile(top string) (any bool, err error) {
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			any = true
			return fs.SkipAll
		case strings.TrimPrefix(path, top) == "/"+backing.Own, strings.TrimPrefix(path, top) == "/results":
			return fs.SkipDir
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return any, err
}
