package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// useLock is the first number of the advisory lock that tells who uses the
// store; the second is made of the schema's name. Each host that follows the
// changes, as a mount does, shares it on the connection that it reads them by;
// who wants the store for himself has it alone, see Options.Alone.
const useLock = schemaLock + 2

// ErrInUse is why a store cannot be opened with Options.Alone.
var ErrInUse = errors.New("the store is in use: a host has it mounted, or a copy into it is under way")

// shareUse says that this host follows the store, for as long as conn lives.
// ok is false where somebody has the store alone.
func shareUse(ctx context.Context, conn *pgx.Conn) (ok bool, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1, hashtext(current_schema()))", useLock).Scan(&ok)
	return ok, err
}

// aloneWait is how long a host that has just gone may take to give its lock back.
const aloneWait = time.Second

// takeAlone returns a connection of its own that has the store alone until it
// is closed, or ErrInUse.
func takeAlone(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, fault(err)
	}
	for end := time.Now().Add(aloneWait); time.Now().Before(end); time.Sleep(firstPause) {
		var alone bool
		err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, hashtext(current_schema()))", useLock).Scan(&alone)
		if err != nil {
			return nil, errors.Join(fault(err), conn.Close(ctx))
		}
		if alone {
			return conn, nil
		}
	}
	return nil, errors.Join(ErrInUse, conn.Close(ctx))
}

// giveBack ends what takeAlone began. A connection that broke has given it
// back by that.
func giveBack(conn *pgx.Conn, timeout time.Duration) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_ = conn.Close(ctx)
}
