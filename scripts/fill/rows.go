package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	sessions = 10   // of an agent
	largest  = 2000 // entries of a directory; every tenth has so many
)

// firstEntry is the time in the name of the first entry, each next one is a
// minute later.
var firstEntry = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// writer copies directories into the tables, each with its entries in one
// transaction.
type writer struct {
	conn    *pgx.Conn
	text    *text
	entries int
	dirs    int
}

var (
	objectColumns = []string{"dir", "name", "is_dir", "size", "mtime", "mode", "uid", "gid", "rev", "body", "op"}
	chunkColumns  = []string{"body", "off", "data"}
)

// directory adds the next one, with at most most entries.
func (w *writer) directory(ctx context.Context, most int) error {
	agent := fmt.Sprintf("agent-%04d", w.dirs/(sessions+1))
	session, dir := "", agent
	at := firstEntry.Add(time.Duration(w.entries) * time.Minute)
	objects := [][]any{}
	if s := w.dirs % (sessions + 1); s == 0 {
		objects = append(objects, row("", agent, true, 0, at, uuid.Must(uuid.NewV7())))
	} else {
		session = fmt.Sprintf("session-%02d", s)
		dir = agent + "/" + session
		objects = append(objects, row(agent, session, true, 0, at, uuid.Must(uuid.NewV7())))
	}
	size := largest
	if w.dirs%10 != 9 {
		size = w.text.dirSize()
	}
	size = min(size, most)
	var chunks [][]any
	before := ""
	for i := range size {
		at := firstEntry.Add(time.Duration(w.entries+i) * time.Minute)
		e := entry{agent: agent, session: session, dir: dir, at: at, before: before}
		body := w.text.of(e)
		id := uuid.Must(uuid.NewV7())
		before = fmt.Sprintf("%s-note-%07d.md", at.Format("20060102T150405"), w.entries+i)
		objects = append(objects, row(dir, before, false, len(body), at, id))
		chunks = append(chunks, []any{id, int64(0), body})
	}
	w.dirs++
	w.entries += size
	return w.copy(ctx, objects, chunks)
}

// row is one of ctxfs_objects.
func row(dir, name string, isDir bool, size int, at time.Time, id uuid.UUID) []any {
	mode := int32(0o644)
	if isDir {
		mode = 0o755
	}
	return []any{[]byte(dir), []byte(name), isDir, int64(size), at.UnixNano(), mode, int64(os.Getuid()), int64(os.Getgid()), id, id, ""}
}

func (w *writer) copy(ctx context.Context, objects, chunks [][]any) error {
	return pgx.BeginFunc(ctx, w.conn, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"ctxfs_objects"}, objectColumns, pgx.CopyFromRows(objects)); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"ctxfs_chunks"}, chunkColumns, pgx.CopyFromRows(chunks))
		return err
	})
}
