package pgtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a second cluster, which follows c, and starts it. From then on
// c acknowledges no commit that the standby does not have on its disk.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	s, err := c.copied()
	if err != nil {
		return nil, fmt.Errorf("start a standby for tests: %w", err)
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := c.Exec(ctx, sql); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
	}
	if err := c.awaitSync(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// copied is a standby made of a backup of c, which runs.
func (c *Cluster) copied() (*Cluster, error) {
	s := &Cluster{}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	if err := s.startGuard(); err != nil {
		return nil, err
	}
	backup, err := program("pg_basebackup")
	if err == nil {
		cmd := s.command(backup, "-h", c.dir, "-U", "ctxfs", "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync")
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("%s: %w\n%s", backup, failed, out)
		}
	}
	if err == nil {
		err = appendTo(filepath.Join(s.dir, "data", "postgresql.conf"), fmt.Appendf(nil, "unix_socket_directories = '%s'\n", s.dir))
	}
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// awaitSync waits until c has a standby that confirms its commits.
func (c *Cluster) awaitSync(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for end := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')").Scan(&there)
		if err != nil || there {
			return err
		}
		if time.Now().After(end) {
			return errors.New("the standby does not follow")
		}
	}
}

// Promote makes a standby take over.
func (c *Cluster) Promote(ctx context.Context) error { return c.Exec(ctx, "SELECT pg_promote()") }

// URLOf names the database of clusters of which one takes writes, with more
// parameters of a connection.
func URLOf(clusters []*Cluster, params ...string) string {
	var dirs []string
	for _, c := range clusters {
		dirs = append(dirs, c.dir)
	}
	return clusters[0].URL(append(params, "host", strings.Join(dirs, ","))...)
}
