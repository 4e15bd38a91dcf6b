package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	maxConns       = 16               // of one store, where the URL has no pool_max_conns
	connectTimeout = 5 * time.Second  // where the URL has no connect_timeout
	openTimeout    = time.Minute      // with a migration that another host is doing
	serverTimeout  = 30 * time.Second // at least; of one statement
)

// configure reads url. Parameters that it has win over what is set here, but
// for the isolation: the statements are written for read committed.
func configure(url string, o Options) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err // pgx leaves the password out of it
	}
	if !strings.Contains(url, "pool_max_conns") {
		c.MaxConns = maxConns
	}
	if !strings.Contains(url, "connect_timeout") {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	set := func(name, value string) {
		if _, given := c.ConnConfig.RuntimeParams[name]; !given {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	set("application_name", "ctxfs")
	// What the server still does for a caller who gave up, or for a host that
	// is gone, must end too.
	end := fmt.Sprint(max(o.Timeout, serverTimeout).Milliseconds())
	set("statement_timeout", end)
	set("idle_in_transaction_session_timeout", end)
	// Every statement goes by keys: there is one plan for it, whatever it is asked.
	set("plan_cache_mode", "force_generic_plan")
	c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	if c.ConnConfig.ValidateConnect == nil && !o.ReadOnly { // else target_session_attrs says what is wanted
		c.ConnConfig.ValidateConnect = wantPrimary
	}
	return c, nil
}

// wantPrimary has the next of several hosts tried where this one is a standby,
// as the one is that was the primary before a failover: what it shows is old.
func wantPrimary(ctx context.Context, conn *pgconn.PgConn) error {
	r := conn.ExecParams(ctx, "SELECT pg_is_in_recovery()", nil, nil, nil, nil).Read()
	if r.Err != nil {
		return r.Err
	}
	if len(r.Rows) != 1 || string(r.Rows[0][0]) != "f" {
		return errors.New("the server is a standby and takes no writes: name the primary, or several hosts, or open the store read-only")
	}
	return nil
}

// connect returns a pool of connections to a database that has the schema.
func connect(ctx context.Context, url string, o Options) (*pgxpool.Pool, error) {
	c, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return prepare(ctx, conn.Conn(), o) })
	if err != nil {
		pool.Close()
		return nil, fault(err)
	}
	return pool, nil
}

// prepare looks at the server, and settles the schema.
func prepare(ctx context.Context, conn *pgx.Conn, o Options) error {
	var version int
	err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version)
	if err != nil {
		return err
	}
	if version < 130000 {
		return fmt.Errorf("the server is PostgreSQL %d, 13 is the oldest that will do", version/10000)
	}
	return settleSchema(ctx, conn, o.ReadOnly)
}
