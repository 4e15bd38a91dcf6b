// Package pgtest runs a private PostgreSQL server for tests: in a temporary
// directory, reached by a socket in it and by nothing else, as an ordinary
// user also where the tests run as root.
//
//	func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Options{}) }
//	func TestX(t *testing.T)    { url := pgtest.Schema(t) … }
//
// One server serves all tests of a binary; each gets a schema of its own. The
// server and its directory go when the test's process ends, however it ends: a
// guard, a process of its own, waits for that.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options say what a server is started with.
type Options struct {
	// Durable leaves fsync on. Without it commits are as fast as memory, and a
	// crash of the machine, not one of the server, loses them.
	Durable bool
	// Settings are lines of postgresql.conf besides.
	Settings []string
}

// Patience is how long a server may take to start or to stop.
const Patience = 60 * time.Second

// Cluster is a server that runs, or did. Its methods are not for concurrent use.
type Cluster struct {
	dir   string
	as    *syscall.Credential // nil: as whoever runs the tests
	guard *exec.Cmd
	alive *os.File   // its end tells the guard that this process has
	ended chan error // says how the server ended; nil before it was first started
	next  int        // of the schemas
}

// guardScript ends the server and removes its directory when standard input
// ends. The server's parent is this process or the guard, whoever ends last.
const guardScript = `
cat >/dev/null
pid=$(head -n 1 data/postmaster.pid 2>/dev/null)
if [ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null; then
  i=0
  while [ -e data/postmaster.pid ] && kill -0 "$pid" 2>/dev/null && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
  kill -KILL "$pid" 2>/dev/null
fi
cd / && rm -rf "$1"`

// Start makes a cluster and starts its server. Stop ends it.
func Start(o Options) (*Cluster, error) {
	c := &Cluster{}
	if err := c.makeDir(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL for tests: %w", err)
	}
	err := c.startGuard()
	if err != nil {
		os.RemoveAll(c.dir)
	} else if err = c.init(o); err == nil {
		err = c.Restart()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL for tests: %w", err), c.Stop())
	}
	return c, nil
}

// makeDir makes the directory below the system's temporary one, as short as
// the name of a socket must be, and gives it to the user that the server runs
// as: PostgreSQL refuses to run as root.
func (c *Cluster) makeDir() (err error) {
	if c.dir, err = os.MkdirTemp("", "pgtest"); err != nil || os.Geteuid() != 0 {
		return err
	}
	var who *user.User
	for _, name := range []string{"postgres", "nobody"} {
		if who, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return err
	}
	c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, int(uid), int(gid))
}

// command runs in the directory, in a process group of its own: what a
// terminal or timeout(1) sends to the tests' group does not reach it.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + c.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as, Setpgid: true}
	return cmd
}

func (c *Cluster) startGuard() error {
	c.guard = c.command("/bin/sh", "-c", guardScript, "guard", c.dir)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	c.guard.Stdin = r
	if err := c.guard.Start(); err != nil {
		return errors.Join(err, w.Close())
	}
	c.alive = w
	return nil
}

// Stop ends the server at once and removes what it left.
func (c *Cluster) Stop() error {
	if c.alive == nil {
		return nil
	}
	err := errors.Join(c.alive.Close(), c.guard.Wait())
	if c.ended != nil {
		<-c.ended // its exit code says only that it was told to
	}
	c.alive, c.ended = nil, nil
	return err
}

func (c *Cluster) init(o Options) error {
	initdb, err := program("initdb")
	if err != nil {
		return err
	}
	cmd := c.command(initdb, "-D", "data", "-U", "ctxfs", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", initdb, err, out)
	}
	var conf bytes.Buffer
	fmt.Fprintf(&conf, "listen_addresses = ''\nunix_socket_directories = '%s'\n", c.dir)
	conf.WriteString("max_connections = 200\nshared_buffers = 32MB\nrestart_after_crash = off\n")
	// What a killed server leaves goes with its directory.
	conf.WriteString("dynamic_shared_memory_type = mmap\n")
	if !o.Durable {
		// Commits are still handed to the kernel: a killed server loses none.
		conf.WriteString("fsync = off\nfull_page_writes = off\n")
	}
	for _, line := range o.Settings {
		conf.WriteString(line + "\n")
	}
	return appendTo(filepath.Join(c.dir, "data", "postgresql.conf"), conf.Bytes())
}

func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// URL names the server's database, with more parameters of a connection.
func (c *Cluster) URL(params ...string) string {
	q := url.Values{"host": {c.dir}, "user": {"ctxfs"}, "sslmode": {"disable"},
		"connect_timeout": {fmt.Sprint(Patience.Seconds())}}
	for i := 0; i+1 < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	return "postgres:///postgres?" + q.Encode()
}

// Socket is the path of the server's socket.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// Schema makes a new schema and returns the URL of a store in it.
func (c *Cluster) Schema(ctx context.Context) (string, error) {
	c.next++
	name := fmt.Sprintf("test%d", c.next)
	return c.URL("search_path", name), c.Exec(ctx, "CREATE SCHEMA "+name)
}

// Exec executes one statement on a connection of its own.
func (c *Cluster) Exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}
