package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"path"
	"strings"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// maxText is how much of an entry is indexed, in bytes.
const maxText = 1 << 20

// Words of the index that no text holds, since fold takes these characters for
// separators. partMark is the word of entries that are not indexed whole: only
// reading them says whether an expression matches. The others begin words of
// the frontmatter, and values of facets.
const (
	partMark  = "\ue000part"
	facetMark = "\ue002"
	frontMark = "\ue003"
)

// update brings what the index says of the entry at p in line with the room.
func (w *writer) update(ctx context.Context, p string) error {
	for try := 0; ; try++ {
		info, err := w.src.Stat(ctx, p)
		if gone(err) || err == nil && (info.Kind != room.Object || info.Size == 0) {
			return w.remove(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", p, err)
		}
		dir, name := split(p)
		var id int64
		var had string
		at, err := w.statement(ctx, "SELECT id, revision FROM entry WHERE dir = ? AND name = ?")
		if err != nil {
			return err
		}
		err = at.QueryRowContext(ctx, dir, name).Scan(&id, &had)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil && had == string(info.Revision) {
			return nil
		}
		text, whole, err := readText(ctx, w.src, p, info.Revision, maxText)
		if gone(err) && try < 8 {
			continue // replaced meanwhile
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", p, err)
		}
		return w.put(ctx, doc{path: p, info: info, text: text, whole: whole, id: id})
	}
}

func gone(err error) bool {
	return errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir)
}

func split(p string) (dir, name string) {
	return strings.TrimSuffix(path.Dir(p), "."), path.Base(p)
}

// doc is an entry to be indexed.
type doc struct {
	path  string
	info  room.Info
	text  []byte
	whole bool
	id    int64 // 0 where it is new
}

func (w *writer) put(ctx context.Context, d doc) error {
	entry, err := codec.Parse(d.text)
	if err != nil {
		entry = codec.Entry{} // not valid; found by its words all the same
	}
	dir, name := split(d.path)
	at, ok := codec.NameTime(name)
	if !ok {
		at = d.info.ModTime
	}
	link := LinkName(d.path)
	if d.id == 0 {
		if d.id, err = w.newID(ctx, at); err != nil {
			return err
		}
		if _, err := w.exec(ctx, "INSERT INTO entry (id, dir, name, link, time, revision) VALUES (?, ?, ?, ?, ?, ?)",
			d.id, dir, name, link, at.Unix(), string(d.info.Revision)); err != nil {
			return err
		}
	} else {
		if _, err := w.exec(ctx, "UPDATE entry SET revision = ?, time = ? WHERE id = ?", string(d.info.Revision), at.Unix(), d.id); err != nil {
			return err
		}
		if err := w.clear(ctx, d.id); err != nil {
			return err
		}
	}
	facets := facetsOf(d.path, entry)
	for _, f := range facets {
		if _, err := w.exec(ctx, "INSERT OR IGNORE INTO facet (kind, value, link, id) VALUES (?, ?, ?, ?)", f.kind, f.value, link, d.id); err != nil {
			return err
		}
	}
	return w.putWords(ctx, d, entry, facets)
}

// putWords stores what an entry is found by: in words the words of its head
// (name, tags, title), of its body, and, marked, those of its frontmatter; in
// heads those of its head again. Both hold its facets too.
func (w *writer) putWords(ctx context.Context, d doc, entry codec.Entry, facets []facet) error {
	_, name := split(d.path)
	head := strings.TrimSuffix(name, ".md") + "\n" + strings.Join(entry.Tags, "\n") + "\n" + title(d.text[entry.Body:])
	columns := make([]strings.Builder, 3)
	whole := d.whole
	for i, text := range [][]byte{[]byte(head), d.text[entry.Body:], d.text[:entry.Body]} {
		b := &columns[i]
		var failed error
		words(text, func(word word) bool {
			if i == 2 {
				b.WriteString(frontMark)
			}
			b.WriteString(word.text)
			b.WriteByte(' ')
			whole = whole && !word.cut
			failed = w.know(ctx, word.text)
			return failed == nil
		})
		if failed != nil {
			return failed
		}
	}
	if !whole {
		columns[2].WriteString(partMark + " ")
	}
	for _, f := range facets {
		columns[0].WriteString(f.word() + " ")
	}
	if _, err := w.exec(ctx, "INSERT INTO heads (rowid, head) VALUES (?, ?)", d.id, columns[0].String()); err != nil {
		return err
	}
	_, err := w.exec(ctx, "INSERT INTO words (rowid, head, body, front) VALUES (?, ?, ?, ?)",
		d.id, columns[0].String(), columns[1].String(), columns[2].String())
	return err
}

// know stores a word, if it is new.
func (w *writer) know(ctx context.Context, word string) error {
	h := maphash.String(w.seed, word)
	if _, ok := w.seen[h]; ok {
		return nil
	}
	r, err := w.exec(ctx, "INSERT OR IGNORE INTO word (word) VALUES (?)", word)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil {
		return err
	} else if n > 0 {
		if _, err := w.exec(ctx, "INSERT INTO word_part (word) VALUES (?)", word); err != nil {
			return err
		}
	}
	if len(w.seen) >= seenWords {
		clear(w.seen)
	}
	w.seen[h] = struct{}{}
	return nil
}

// clear forgets what is found of the entry id.
func (w *writer) clear(ctx context.Context, id int64) error {
	if _, err := w.exec(ctx, "DELETE FROM facet WHERE id = ?", id); err != nil {
		return err
	}
	if _, err := w.exec(ctx, "DELETE FROM heads WHERE rowid = ?", id); err != nil {
		return err
	}
	_, err := w.exec(ctx, "DELETE FROM words WHERE rowid = ?", id)
	return err
}

// remove forgets the entry at p and all below it.
func (w *writer) remove(ctx context.Context, p string) error {
	dir, name := split(p)
	ids, err := column[int64](ctx, w, "SELECT id FROM entry WHERE dir = ? AND name = ? OR dir = ? OR dir > ? AND dir < ?",
		dir, name, p, p+"/", p+"0")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.clear(ctx, id); err != nil {
			return err
		}
		if _, err := w.exec(ctx, "DELETE FROM entry WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// title is the first heading of a body, else its first line with text.
func title(body []byte) string {
	first := ""
	for line := range strings.Lines(string(body[:min(len(body), 4096)])) {
		line = strings.TrimSpace(line)
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") && (first == "" || line != changelog) {
			return strings.TrimSpace(h)
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// changelog is the heading of the section that every overwritten entry has.
const changelog = "## Changelog"
