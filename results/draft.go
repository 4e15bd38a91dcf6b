package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// draft is one writer's next content of one result. It implements
// [room.Draft].
type draft struct {
	r    *Results
	name string
	buf  *room.Buffer
	made bool // its open made the pending name

	mu     sync.Mutex // guards the rest; held across a commit, so that what is checked is what is kept
	info   room.Info  // what it was at the open or after the last commit
	by     room.Caller
	named  bool
	loaded bool   // buf holds the content; until then it is that of info
	prefix int64  // bytes written in order from the beginning, while that is all there is; -1 when not
	gen    uint64 // counts changes of the content
	saved  uint64 // gen of the last commit
	done   bool   // it has committed
	stuck  error  // a write that failed: what follows it is not the writer's content
	at     time.Time
	attr   backing.AttrChange // what the writer set since the last commit
	told   map[codec.Refusal]bool
	kept   uint64 // gen+1 of the content in the .rej
}

func newDraft(r *Results, c room.Caller, info room.Info, made bool) *draft {
	d := &draft{r: r, name: info.Name, buf: room.NewBuffer(r.store), made: made, info: info, by: c,
		loaded: info.Size == 0, at: info.ModTime, told: map[codec.Refusal]bool{}}
	if !d.loaded {
		d.prefix = -1
	}
	r.index.open(info.Name, 1)
	return d
}

// By implements [room.Draft].
func (d *draft) By(c room.Caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.named {
		d.by, d.named = c, true
	}
}

// Size implements [room.Draft].
func (d *draft) Size() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size()
}

func (d *draft) size() int64 {
	if !d.loaded {
		return d.info.Size
	}
	return d.buf.Size()
}

// Changed implements [room.Draft].
func (d *draft) Changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gen != d.saved
}

// Info implements [room.Draft].
func (d *draft) Info() room.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := d.info
	info.Size, info.ModTime = d.size(), d.at
	change(d.attr, &info.Mode, &info.ModTime, &info.UID, &info.GID)
	return info
}

// Sync implements [room.File]: it commits.
func (d *draft) Sync() error { return d.Commit(context.Background()) }

// Commit implements [room.Draft]. It returns a *codec.Refusal where the
// content is no result, or one of another name.
func (d *draft) Commit(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gen == d.saved {
		return nil
	}
	if d.stuck != nil {
		return d.stuck
	}
	s := save{name: d.name, body: d.buf, by: d.by, mode: d.info.Mode, fresh: d.made && !d.done}
	if d.attr.ModTime != nil {
		s.modTime = *d.attr.ModTime
	}
	rec, err := d.r.publish(ctx, s)
	if err != nil {
		return err
	}
	d.saved, d.done = d.gen, true
	if rec == nil {
		return nil // removed by somebody while it was written
	}
	d.info = rec.info()
	if d.attr != (backing.AttrChange{}) {
		if info, ok := d.r.index.setAttr(d.name, d.attr); ok {
			d.info = info
		}
		d.attr = backing.AttrChange{}
	}
	d.at = d.info.ModTime
	return nil
}

// SetAttr implements [room.Draft].
func (d *draft) SetAttr(ctx context.Context, a backing.AttrChange) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gen == d.saved {
		info, ok := d.r.index.setAttr(d.name, a)
		if !ok {
			return nil // removed: nobody sees what it is
		}
		d.info, d.at = info, info.ModTime
		return nil
	}
	if a.ModTime != nil {
		d.attr.ModTime = a.ModTime
	}
	if a.Mode != nil {
		d.attr.Mode = a.Mode
	}
	if a.UID != nil {
		d.attr.UID = a.UID
	}
	if a.GID != nil {
		d.attr.GID = a.GID
	}
	return nil
}

// Refuse implements [room.Draft]: the draft goes to the .rej, the reason to
// the journal, once for each reason.
func (d *draft) Refuse(ctx context.Context, err error) {
	if err == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := refusalOf(err, d.name)
	first := !d.told[r]
	if !first && d.kept == d.gen+1 {
		return
	}
	d.told[r] = true
	if loadErr := d.load(ctx); loadErr != nil {
		d.r.o.Log.Error("a refused draft has lost the old content's part", "path", path(d.name), "err", loadErr)
	}
	if first {
		d.r.journal(r, d.by)
	}
	if d.r.keepReject(ctx, d.name, &r, d.buf, d.by, d.info.Mode) {
		d.kept = d.gen + 1
	}
}

// Close implements [io.Closer]: it drops what was never committed. A pending
// name that was filled with nothing but refused content ends with its last
// draft, also where a full disk had no room for the .rej.
func (d *draft) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.r.index.open(d.name, -1) == 0
	if last && !d.done && len(d.told) > 0 && d.r.index.dropPending(d.name) {
		d.r.watch.Changed(d.name, false)
	}
	return d.buf.Close()
}

// load fills the buffer with the content that the draft began from.
func (d *draft) load(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	c, err := d.r.open(ctx, d.name, d.info.Revision)
	if errors.Is(err, backing.ErrNotFound) {
		c, err = d.r.open(ctx, d.name, "") // overwritten since; nobody has seen the old one through this draft
	}
	if err != nil {
		return fmt.Errorf("read %s for a draft: %w", path(d.name), err)
	}
	defer c.Close()
	if _, err := io.Copy(io.NewOffsetWriter(d.buf, 0), io.NewSectionReader(c, 0, c.Size())); err != nil {
		return fmt.Errorf("read %s for a draft: %w", path(d.name), err)
	}
	d.loaded = true
	return nil
}

// early says why a content that was written in order cannot become a result,
// however it goes on: shells ignore what close(2) says, but not what write(2)
// does.
func (d *draft) early() error {
	if d.prefix < 0 || d.prefix > MemoryBelow || d.prefix != d.buf.Size() {
		return nil
	}
	content, err := d.buf.Bytes()
	if err != nil {
		return fmt.Errorf("check the draft of %s: %w", path(d.name), err)
	}
	content = bytes.TrimLeft(content, " \t\r\n")
	if len(content) == 0 || content[0] == '{' && strings.IndexByte("}\n", content[len(content)-1]) < 0 {
		return nil // nothing that is worth a look ended with this write
	}
	var wrong *syntaxError
	err = newScanner(d.buf.Reader()).fields(map[string]shape{})
	if errors.As(err, &wrong) && wrong.end {
		return nil
	}
	_, err = Check(d.name, d.buf.Reader())
	return err
}
