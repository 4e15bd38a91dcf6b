package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path"
	"strings"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// maxText is how much of an entry is indexed, in bytes.
const maxText = 1 << 20

// marked is the word of entries that are not indexed whole: only reading them
// says whether an expression matches.
const marked = "\ue000part"

// seenWords bounds how many words are known to be stored, see writer.seen.
const seenWords = 1 << 18

// writer changes the file. It is used by one goroutine at a time.
type writer struct {
	db   *sql.DB
	src  Source
	seed maphash.Seed
	// seen are the hashes of words that are stored already, so that few are
	// asked for in the file; begun anew when it grows long.
	seen map[uint64]struct{}
}

// update brings what the index says of the entry at p in line with the room.
func (w *writer) update(ctx context.Context, tx *sql.Tx, p string) error {
	for try := 0; ; try++ {
		info, err := w.src.Stat(ctx, p)
		if gone(err) || err == nil && (info.Kind != room.Object || info.Size == 0) {
			return w.remove(ctx, tx, p)
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", p, err)
		}
		dir, name := split(p)
		var id int64
		var had string
		err = tx.QueryRowContext(ctx, "SELECT id, revision FROM entry WHERE dir = ? AND name = ?", dir, name).Scan(&id, &had)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil && had == string(info.Revision) {
			return nil
		}
		text, whole, err := readText(ctx, w.src, p, info)
		if gone(err) && try < 8 {
			continue // replaced meanwhile
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", p, err)
		}
		return w.put(ctx, tx, doc{path: p, info: info, text: text, whole: whole, id: id})
	}
}

func gone(err error) bool {
	return errors.Is(err, backing.ErrNotFound) || errors.Is(err, backing.ErrNotDir)
}

func split(p string) (dir, name string) {
	return strings.TrimSuffix(path.Dir(p), "."), path.Base(p)
}

// readText reads the first maxText bytes of the entry at p.
func readText(ctx context.Context, src Content, p string, info room.Info) (text []byte, whole bool, err error) {
	c, err := src.Read(ctx, p, info.Revision)
	if err != nil {
		return nil, false, err
	}
	defer c.Close()
	text = make([]byte, min(c.Size(), maxText))
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), text); err != nil {
		return nil, false, err
	}
	return text, c.Size() <= maxText, nil
}

// doc is an entry to be indexed.
type doc struct {
	path  string
	info  room.Info
	text  []byte
	whole bool
	id    int64 // 0 where it is new
}

func (w *writer) put(ctx context.Context, tx *sql.Tx, d doc) error {
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
		r, err := tx.ExecContext(ctx, "INSERT INTO entry (dir, name, link, time, revision) VALUES (?, ?, ?, ?, ?)",
			dir, name, link, at.Unix(), string(d.info.Revision))
		if err != nil {
			return err
		}
		if d.id, err = r.LastInsertId(); err != nil {
			return err
		}
	} else {
		if _, err := tx.ExecContext(ctx, "UPDATE entry SET revision = ?, time = ? WHERE id = ?", string(d.info.Revision), at.Unix(), d.id); err != nil {
			return err
		}
		if err := w.clear(ctx, tx, d.id); err != nil {
			return err
		}
	}
	for _, f := range facetsOf(d.path, entry) {
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO facet (kind, value, link, id) VALUES (?, ?, ?, ?)", f.kind, f.value, link, d.id); err != nil {
			return err
		}
	}
	return w.putWords(ctx, tx, d, entry)
}

func (w *writer) putWords(ctx context.Context, tx *sql.Tx, d doc, entry codec.Entry) error {
	_, name := split(d.path)
	head := strings.TrimSuffix(name, ".md") + "\n" + strings.Join(entry.Tags, "\n") + "\n" + title(d.text[entry.Body:])
	columns := make([]string, 3)
	whole := d.whole
	for i, text := range [][]byte{[]byte(head), d.text[entry.Body:], d.text[:entry.Body]} {
		var b strings.Builder
		var failed error
		words(text, func(word word) bool {
			b.WriteString(word.text)
			b.WriteByte(' ')
			whole = whole && !word.cut
			failed = w.know(ctx, tx, word.text)
			return failed == nil
		})
		if failed != nil {
			return failed
		}
		columns[i] = b.String()
	}
	if !whole {
		columns[2] += marked
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, head, body, front) VALUES (?, ?, ?, ?)", d.id, columns[0], columns[1], columns[2])
	return err
}

// know stores a word, if it is new.
func (w *writer) know(ctx context.Context, tx *sql.Tx, word string) error {
	h := maphash.String(w.seed, word)
	if _, ok := w.seen[h]; ok {
		return nil
	}
	r, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO word (word) VALUES (?)", word)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil {
		return err
	} else if n > 0 {
		if _, err := tx.ExecContext(ctx, "INSERT INTO word_part (word) VALUES (?)", word); err != nil {
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
func (w *writer) clear(ctx context.Context, tx *sql.Tx, id int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM facet WHERE id = ?", id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid = ?", id)
	return err
}

// remove forgets the entry at p and all below it.
func (w *writer) remove(ctx context.Context, tx *sql.Tx, p string) error {
	dir, name := split(p)
	ids, err := column[int64](ctx, tx, "SELECT id FROM entry WHERE dir = ? AND name = ? OR dir = ? OR dir > ? AND dir < ?",
		dir, name, p, p+"/", p+"0")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.clear(ctx, tx, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM entry WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// querier is a transaction or a database.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// column returns the one column of all rows.
func column[T any](ctx context.Context, q querier, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
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
