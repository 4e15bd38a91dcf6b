package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// EntriesFile is an open entries.jsonl: read in place, written only by whole
// lines at the end, each of which is add_entry. A line may come in several
// writes; it counts when its object is whole, or when the file is closed.
type EntriesFile struct {
	backing.File // open for reading
	s            *Memories
	p            place
	by           room.Caller
	writable     bool
	appending    bool // O_APPEND: positions do not matter

	mu    sync.Mutex // guards tail, and makes a write one step
	tail  []byte     // the begin of a line
	whole bool       // the line that was added last had no end yet, which may follow
	next  int64      // the position after what this handle wrote last, as its writer counts
	line  int        // lines that this handle added
}

var _ backing.File = (*EntriesFile)(nil)

func (s *Memories) openEntries(ctx context.Context, p place, c room.Caller, o room.Create) (room.File, room.Info, error) {
	files, err := s.plain()
	if err != nil {
		return nil, room.Info{}, err
	}
	key := s.key(p.memory, entriesFile)
	f, err := files.OpenFile(ctx, key, syscall.O_RDONLY, 0)
	if errors.Is(err, backing.ErrNotFound) && o.New {
		f, err = s.newEntries(ctx, files, key, c, o.Mode)
	}
	if err != nil {
		return nil, room.Info{}, err
	}
	m, err := f.Stat()
	if err == nil && o.Flags&syscall.O_TRUNC != 0 && m.Size > 0 {
		err = s.deny(c, appendOnly(p, "entries are added, never overwritten"))
	}
	if err != nil {
		return nil, room.Info{}, errors.Join(err, f.Close())
	}
	m.Key = key
	info, err := fileInfo(m)
	if err != nil {
		return nil, info, errors.Join(err, f.Close())
	}
	return &EntriesFile{File: f, s: s, p: p, by: c, writable: o.Flags&syscall.O_ACCMODE != syscall.O_RDONLY,
		appending: o.Flags&syscall.O_APPEND != 0}, info, nil
}

// newEntries makes an empty entries.jsonl.
func (s *Memories) newEntries(ctx context.Context, files backing.Files, key backing.Key, c room.Caller, mode fs.FileMode) (backing.File, error) {
	f, err := files.OpenFile(ctx, key, syscall.O_RDWR|syscall.O_CREAT, mode.Perm())
	if err != nil {
		return nil, err
	}
	m, err := f.Stat()
	if err == nil {
		m.Key = key
		s.give(ctx, c, m)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("make %s: %w", key, err)
	}
	return files.OpenFile(ctx, key, syscall.O_RDONLY, 0)
}

// Append adds the lines in p at the end, wherever that is, and returns when
// they are stored. Where one of them is refused none of p is added.
func (f *EntriesFile) Append(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(p)
}

// WriteAt is Append where off is the end, or goes on where this handle's last
// write ended (what is stored is longer than what was written), or the file
// was opened with O_APPEND; EPERM elsewhere.
func (f *EntriesFile) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.appending {
		m, err := f.File.Stat()
		if err != nil {
			return 0, err
		}
		if off != m.Size && (f.next == 0 || off != f.next) {
			return 0, f.s.deny(f.by, appendOnly(f.p, "entries are added at the end, never written over"))
		}
	}
	n, err := f.write(p)
	f.next = off + int64(n)
	return n, err
}

// write adds p. f.mu is held.
func (f *EntriesFile) write(p []byte) (int, error) {
	if !f.writable {
		return 0, syscall.EBADF
	}
	if len(p) == 0 {
		return 0, nil
	}
	lines, tail := f.cut(p)
	entries, err := f.parse(lines)
	if err == nil {
		err = f.checkTail(tail, len(entries))
	}
	if err != nil {
		f.tail = nil // the line that it belonged to is refused as a whole
		return 0, f.s.deny(f.by, err)
	}
	if len(entries) > 0 {
		if _, err := f.s.add(context.Background(), f.p.memory, entries); err != nil {
			f.tail = nil
			return 0, err
		}
	}
	if len(lines) > 0 {
		f.whole = lines[len(lines)-1] != '\n'
	} else if len(bytes.TrimSpace(tail)) > 0 {
		f.whole = false // another has begun
	}
	f.tail = bytes.Clone(tail)
	f.line += len(entries)
	return len(p), nil
}

// cut joins p to the line that was begun, and takes it apart into whole lines
// and the begin of another. An object that is whole needs no end: nothing but
// that can follow it.
func (f *EntriesFile) cut(p []byte) (lines, tail []byte) {
	if f.whole {
		if rest, ended := bytes.CutPrefix(bytes.TrimLeft(p, " \t\r"), []byte("\n")); ended {
			f.whole = false
			p = rest
		}
	}
	all := append(f.tail[:len(f.tail):len(f.tail)], p...)
	end := bytes.LastIndexByte(all, '\n') + 1
	if last := bytes.TrimSpace(all[end:]); len(last) <= MaxEntry && bytes.HasSuffix(last, []byte("}")) && json.Valid(last) {
		end = len(all)
	}
	return all[:end], all[end:]
}

// parse checks whole lines.
func (f *EntriesFile) parse(lines []byte) ([]Entry, error) {
	var entries []Entry
	for line := range bytes.Lines(lines) {
		e, err := ParseEntry(line)
		if err != nil {
			return nil, withPath(err, f.p.path, f.line+len(entries)+1)
		}
		e.Raw = bytes.Clone(e.Raw)
		entries = append(entries, e)
	}
	return entries, nil
}

// checkTail refuses the begin of a line that no end can make good.
func (f *EntriesFile) checkTail(tail []byte, before int) error {
	begun := bytes.TrimLeft(tail, " \t\r")
	var r *codec.Refusal
	switch {
	case len(tail) > MaxEntry:
		r = badLine("", "shorten it, or keep the text in a file and mention its path", "an entry has at most %d bytes", MaxEntry)
	case len(begun) > 0 && begun[0] != '{':
		r = badLine("", lineFix, "not a JSON object")
	default:
		return nil
	}
	return withPath(r, f.p.path, f.line+before+1)
}

// Truncate allows only what changes nothing.
func (f *EntriesFile) Truncate(size int64) error {
	m, err := f.File.Stat()
	if err != nil {
		return err
	}
	if size == m.Size {
		return nil
	}
	return f.s.deny(f.by, appendOnly(f.p, "entries are added, never cut off"))
}

// Sync is AwaitConsistency; what was added is durable already.
func (f *EntriesFile) Sync() error {
	if !f.writable {
		return nil
	}
	return f.s.AwaitConsistency(context.Background(), f.p.memory)
}

// Close adds a last line that has no end. Where that is refused the journal
// says so, as nobody hears a close.
func (f *EntriesFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if len(bytes.TrimSpace(f.tail)) > 0 {
		_, err = f.write([]byte("\n"))
	}
	f.tail = nil
	return errors.Join(err, f.File.Close())
}
