package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
)

// schemas holds what makes version N of the schema out of version N-1, N.sql.
// A file that was released is never changed.
//
//go:embed schema/*.sql
var schemas embed.FS

// schemaVersion is the newest.
const schemaVersion = 1

// schemaLock is the number of the advisory lock that whoever changes the
// schema takes, with a second one that is made of the schema's name.
const schemaLock = 0x63747866 // "ctxf"

// settleSchema brings the schema up to date. Of several hosts that start at
// once one does it, and the others wait.
func settleSchema(ctx context.Context, conn *pgx.Conn, readOnly bool) error {
	have, err := readVersion(ctx, conn)
	if err != nil || have == schemaVersion {
		return err
	}
	if readOnly {
		return fmt.Errorf("the store's schema has version %d, %d is needed, and a read-only store is not changed: open it for writing once", have, schemaVersion)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	err = migrate(ctx, tx)
	if err != nil {
		return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
	}
	return tx.Commit(ctx)
}

// readVersion is 0 where there is no store yet.
func readVersion(ctx context.Context, q interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (int, error) {
	var current *string
	var there bool
	err := q.QueryRow(ctx, "SELECT current_schema(), to_regclass('ctxfs_schema') IS NOT NULL").Scan(&current, &there)
	if err != nil {
		return 0, err
	}
	if current == nil {
		return 0, errors.New("no schema of the connection's search_path exists: make it with CREATE SCHEMA, or leave search_path out of the URL")
	}
	if !there {
		return 0, nil
	}
	var version int
	if err := q.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM ctxfs_schema").Scan(&version); err != nil {
		return 0, err
	}
	if version > schemaVersion {
		return 0, fmt.Errorf("the store's schema has version %d, and this ctxfs knows %d: use the ctxfs that the other hosts have, or a newer one", version, schemaVersion)
	}
	return version, nil
}

func migrate(ctx context.Context, tx pgx.Tx) error {
	// Until the transaction ends. The timeout of statements is not for those
	// that wait here, nor for a migration.
	_, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0")
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1, hashtext(current_schema()))", schemaLock)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS ctxfs_schema (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
	}
	if err != nil {
		return err
	}
	have, err := readVersion(ctx, tx)
	if err != nil {
		return err
	}
	for n := have + 1; n <= schemaVersion; n++ {
		text, err := schemas.ReadFile(fmt.Sprintf("schema/%d.sql", n))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(text)); err != nil {
			return fmt.Errorf("bring the schema to version %d: %w", n, err)
		}
		if n == 1 {
			err = plant(ctx, tx)
		}
		if err == nil {
			_, err = tx.Exec(ctx, "INSERT INTO ctxfs_schema (version) VALUES ($1)", n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plant makes the directories that every store has.
func plant(ctx context.Context, tx pgx.Tx) error {
	for _, key := range []backing.Key{"", backing.Own} {
		id := newID()
		_, err := tx.Exec(ctx, `INSERT INTO ctxfs_objects (dir, name, is_dir, size, mtime, mode, uid, gid, rev, body, op)
			VALUES ($1, $2, true, 0, $3, $4, $5, $6, $7, $7, '')`,
			[]byte(key.Dir()), []byte(key.Name()), time.Now().UnixNano(), 0o755, os.Geteuid(), os.Getegid(), id)
		if err != nil {
			return err
		}
	}
	return nil
}
