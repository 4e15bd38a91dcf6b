package entries

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// xattrPrefix opens the names of the attributes that entries have (design,
// Finding things). They show the frontmatter, and are changed by changing it.
const xattrPrefix = "user.ctxfs."

var _ room.Xattrs = (*Entries)(nil)

// attributes make the values of the attributes from a stored entry; "" is
// none. Those of lists have one item a line, as a tag may hold a comma.
var attributes = []struct {
	name  string
	value func(codec.Entry) string
}{
	{"agent", func(e codec.Entry) string { return e.Agent }},
	{"session", func(e codec.Entry) string { return e.Session }},
	{"type", func(e codec.Entry) string { return e.Type }},
	{"tags", func(e codec.Entry) string { return strings.Join(e.Tags, "\n") }},
	{"links", func(e codec.Entry) string { return strings.Join(e.Links, "\n") }},
}

// versionXattr is the number of the current version, from 1.
const versionXattr = xattrPrefix + "version"

// ListXattr implements [room.Xattrs]: the attributes that have a value. Only
// entries have some.
func (e *Entries) ListXattr(ctx context.Context, path string) ([]string, error) {
	entry, ok, err := e.frontmatter(ctx, path)
	if err != nil || !ok {
		return nil, err
	}
	var names []string
	for _, a := range attributes {
		if a.value(entry) != "" {
			names = append(names, xattrPrefix+a.name)
		}
	}
	return append(names, versionXattr), nil
}

// GetXattr implements [room.Xattrs].
func (e *Entries) GetXattr(ctx context.Context, path, attr string) ([]byte, error) {
	name, ok := strings.CutPrefix(attr, xattrPrefix)
	if !ok {
		return nil, syscall.ENOTSUP
	}
	entry, ok, err := e.frontmatter(ctx, path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, syscall.ENODATA
	}
	if attr == versionXattr {
		versions, err := e.store.Versions(ctx, backing.Key(path))
		return strconv.AppendInt(nil, int64(len(versions)+1), 10), err
	}
	for _, a := range attributes {
		if a.name == name {
			if v := a.value(entry); v != "" {
				return []byte(v), nil
			}
		}
	}
	return nil, syscall.ENODATA
}

// SetXattr implements [room.Xattrs]: EPERM, the frontmatter says it.
func (e *Entries) SetXattr(_ context.Context, _ room.Caller, _, attr string, _ []byte) error {
	return fixedXattr(attr)
}

// RemoveXattr implements [room.Xattrs].
func (e *Entries) RemoveXattr(_ context.Context, _ room.Caller, _, attr string) error {
	return fixedXattr(attr)
}

func fixedXattr(attr string) error {
	if strings.HasPrefix(attr, xattrPrefix) {
		return syscall.EPERM
	}
	return syscall.ENOTSUP
}

// frontmatter reads that of the entry stored at path; ok is false for what is
// none, or none that can be read.
func (e *Entries) frontmatter(ctx context.Context, path string) (entry codec.Entry, ok bool, err error) {
	info, err := e.Stat(ctx, path)
	if err != nil || info.Kind != room.Object || info.Size == 0 {
		return codec.Entry{}, false, err
	}
	c, err := e.Read(ctx, path, "")
	if errors.Is(err, backing.ErrNotFound) {
		return codec.Entry{}, false, nil
	}
	if err != nil {
		return codec.Entry{}, false, err
	}
	defer c.Close()
	// The closing line is at most this far in.
	head := make([]byte, min(c.Size(), codec.MaxFrontmatter+16))
	if _, err := c.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return codec.Entry{}, false, err
	}
	entry, err = codec.Parse(head)
	return entry, err == nil, nil
}
