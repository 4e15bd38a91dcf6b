package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// layout is the number of what follows; a file with another one is made anew.
const layout = 2

// schema: entries are numbered by their time (firstID), so that the newest
// ones are found first without sorting. facet says under which values of a kind
// an entry is found, for views. words and heads hold no text; what they do hold
// is in putWords. word_part finds distinct words by parts of them.
const schema = `
CREATE TABLE entry (
	id INTEGER PRIMARY KEY, dir TEXT NOT NULL, name TEXT NOT NULL,
	link TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, revision TEXT NOT NULL,
	UNIQUE (dir, name));
CREATE TABLE facet (
	kind INTEGER NOT NULL, value TEXT NOT NULL, link TEXT NOT NULL, id INTEGER NOT NULL,
	PRIMARY KEY (kind, value, link)) WITHOUT ROWID;
CREATE INDEX facet_of ON facet (id);
CREATE VIRTUAL TABLE words USING fts5 (head, body, front,
	content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE heads USING fts5 (head,
	content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE TABLE word (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE word_part USING fts5 (word, columnsize = 0, tokenize = 'trigram case_sensitive 1');
`

// errDamaged: the file is no index of this layout, or is broken.
var errDamaged = errors.New("the index is missing, damaged or of another version")

func dsn(path string, readOnly bool) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(5000)")
	if readOnly {
		q.Add("mode", "ro")
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(OFF)")  // see mark
		q.Add("_pragma", "cache_size(-4096)") // KiB
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// openFile opens an existing index for reading, or errDamaged.
func openFile(ctx context.Context, path string) (*sql.DB, error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errDamaged, err)
	}
	db, err := sql.Open("sqlite", dsn(path, true))
	if err != nil {
		return nil, err
	}
	if err := checkLayout(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func checkLayout(ctx context.Context, db *sql.DB) error {
	var v int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return damaged(err)
	}
	if v != layout {
		return errDamaged
	}
	return nil
}

// checkSize reports a file that has lost its end, which SQLite would notice
// only when it comes to read that.
func checkSize(path string) error {
	if _, err := os.Lstat(path + "-wal"); err == nil {
		return nil // the end may be there
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	header := make([]byte, 100) // https://www.sqlite.org/fileformat2.html
	if _, err := f.ReadAt(header, 0); err != nil {
		return errors.Join(errDamaged, err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	page, pages := int64(binary.BigEndian.Uint16(header[16:])), int64(binary.BigEndian.Uint32(header[28:]))
	if info.Size() < page*pages {
		return fmt.Errorf("%w: it has %d bytes of %d", errDamaged, info.Size(), page*pages)
	}
	return nil
}

// openWriter opens the index for writing and makes it where it is missing or
// of no use; fresh says that it did.
func openWriter(ctx context.Context, path string) (db *sql.DB, fresh bool, err error) {
	bad, err := condemned(path)
	if err != nil {
		return nil, false, err
	}
	if !bad {
		db, fresh, err = tryWriter(ctx, path)
	}
	if bad || errors.Is(err, errDamaged) {
		if err := removeFile(path); err != nil {
			return nil, false, err
		}
		db, fresh, err = tryWriter(ctx, path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("open the index %s: %w", path, err)
	}
	return db, fresh, nil
}

func tryWriter(ctx context.Context, path string) (db *sql.DB, fresh bool, err error) {
	info, err := os.Lstat(path)
	fresh = errors.Is(err, fs.ErrNotExist)
	if !fresh && (err != nil || !info.Mode().IsRegular()) {
		return nil, false, errors.Join(errDamaged, err)
	}
	if fresh {
		// What SQLite left beside a file that is gone belongs to none.
		if err := errors.Join(removeFile(path), mark(path)); err != nil {
			return nil, false, err
		}
	}
	if db, err = sql.Open("sqlite", dsn(path, false)); err != nil {
		return nil, false, err
	}
	db.SetMaxOpenConns(1)
	if fresh {
		_, err = db.ExecContext(ctx, "BEGIN;"+schema+fmt.Sprintf("PRAGMA user_version = %d; COMMIT", layout))
	} else if err = errors.Join(checkSize(path), checkLayout(ctx, db)); err == nil {
		// The pages that every write uses.
		var n int
		err = damaged(db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM entry, facet, word LIMIT 1)").Scan(&n))
	}
	if err != nil {
		return nil, false, errors.Join(err, db.Close())
	}
	return db, fresh, nil
}

// removeFile removes the index with the files that SQLite puts beside it.
func removeFile(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", markSuffix} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a damaged index: %w", err)
		}
	}
	return nil
}

// damaged turns SQLite's complaints about the file into errDamaged.
func damaged(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return errors.Join(errDamaged, err)
	case sqlite3.SQLITE_ERROR:
		if strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "vtable constructor failed") {
			return errors.Join(errDamaged, err)
		}
	}
	return err
}
