package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"ctxfs/backing/postgres/pgtest"
)

// databases are the servers of one script, which it harms.
type databases struct {
	t        testing.TB // of all scripts
	clusters []*pgtest.Cluster
	proxy    *pgtest.Proxy // to the first
	mounted  string        // by space
}

type databasesKey struct{}

// databaseCmd is `database VERB`:
//
//	start [LINE…]  starts a server, with lines of postgresql.conf; $STORE is an
//	               empty store there, by way of a network that can be cut
//	space SIZE     lets the tables of $STORE be made in a file system of that
//	               size, $SPACE
//	standby        starts one that confirms the first one's commits; $STORE is
//	               the database of whichever takes writes
//	takeover       kills the first and promotes the standby
//	kill, stop     ends the server as a crash does, or in order
//	restart        starts it again
//	freeze, thaw   stops its processes, and lets them go on
//	cut N          breaks N connections, before, after or with what was sent on them
//	slow TIME      lets all that is sent wait for so long
//	whole          mends the network
func databaseCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: database VERB")
	}
	d := ts.Value(databasesKey{}).(*databases)
	guardOf(ts).within(ts, 2*commandLimit, "database", func() {
		ts.Check(d.do(ts, args[0], args[1:]))
	})
}

func (d *databases) do(ts *testscript.TestScript, verb string, args []string) error {
	ctx := context.Background()
	if verb == "start" {
		c, err := pgtest.Start(pgtest.Options{Settings: args})
		if err != nil {
			return err
		}
		d.clusters, d.proxy = append(d.clusters, c), pgtest.ProxyTo(d.t, c)
		d.use(ts, d.proxy.Through(d.t, c.URL("connect_timeout", "5")))
		return nil
	}
	first := d.clusters[0]
	switch verb {
	case "space":
		dir, err := d.space(args[0])
		if err != nil {
			return err
		}
		if err := first.Exec(ctx, fmt.Sprintf("CREATE TABLESPACE script LOCATION '%s'", dir)); err != nil {
			return err
		}
		ts.Setenv("SPACE", dir)
		d.use(ts, first.URL("default_tablespace", "script"))
		return nil
	case "standby":
		s, err := first.Standby(ctx)
		if err != nil {
			return err
		}
		d.clusters = append(d.clusters, s)
		d.use(ts, pgtest.URLOf(d.clusters, "connect_timeout", "5"))
		return nil
	case "takeover":
		if err := first.Kill(syscall.SIGKILL); err != nil {
			return err
		}
		return d.clusters[1].Promote(ctx)
	case "kill":
		return first.Kill(syscall.SIGKILL)
	case "stop":
		return first.Kill(syscall.SIGINT)
	case "restart":
		return first.Restart()
	case "freeze":
		return first.Freeze(true)
	case "thaw":
		return first.Freeze(false)
	}
	return d.network(verb, args)
}

func (d *databases) network(verb string, args []string) error {
	switch verb {
	case "cut":
		var n int
		if _, err := fmt.Sscan(args[0], &n); err != nil {
			return err
		}
		d.proxy.OnQuery(cuts(n))
	case "slow":
		delay, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		d.proxy.OnQuery(func([]byte) pgtest.Fault {
			time.Sleep(delay)
			return pgtest.Pass
		})
	case "whole":
		d.proxy.OnQuery(nil)
		d.proxy.Release()
	default:
		return fmt.Errorf("database knows no %q", verb)
	}
	return nil
}

// cuts breaks n of the connections, about one in 20 pieces that are sent.
func cuts(n int) func([]byte) pgtest.Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	return func([]byte) pgtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || random.IntN(20) > 0 {
			return pgtest.Pass
		}
		n--
		return pgtest.Fault(1 + random.IntN(3))
	}
}

// space mounts a file system in the first server's directory.
func (d *databases) space(size string) (dir string, err error) {
	home := filepath.Dir(d.clusters[0].Socket())
	dir = filepath.Join(home, "space")
	var of unix.Stat_t
	if err := unix.Stat(home, &of); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	d.mounted = dir
	return dir, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%s,mode=700,uid=%d,gid=%d", size, of.Uid, of.Gid))
}

// use makes url the script's store.
func (d *databases) use(ts *testscript.TestScript, url string) {
	guardOf(ts).store = url
	ts.Setenv("STORE", url)
}

// end stops the servers and removes them.
func (d *databases) end() {
	if d.mounted != "" {
		if err := unix.Unmount(d.mounted, unix.MNT_DETACH); err != nil {
			d.t.Error(err)
		}
	}
	for _, c := range d.clusters {
		if err := c.Freeze(false); err != nil {
			d.t.Log(err) // it was killed
		}
		if err := c.Stop(); err != nil {
			d.t.Error(err)
		}
	}
}

// faultScripts have servers of their own.
func faultScripts(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("testdata/postgres/faults/*.txt")
	if err != nil || len(list) == 0 {
		t.Fatalf("there are no scripts in testdata/postgres/faults; %v", err)
	}
	return list
}
