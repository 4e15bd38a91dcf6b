package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
)

// mounted is a mount of the store.
type mounted struct {
	s     settings
	dir   string // temporary: the mountpoint is mnt in it
	state string // what belongs to this host, the index above all
}

// ofMount measures through a mount, which makes its index where there is none.
func ofMount(ctx context.Context, s settings) (err error) {
	m, err := indexedMount(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.end()) }()
	if err := m.lists(ctx); err != nil {
		return err
	}
	n := 0
	for _, what := range []string{"first", "second"} {
		err = once(fmt.Sprintf("mount: the %s walk, names and metadata", what), func() error {
			n, err = count(m.point())
			return err
		})
		if err != nil {
			return err
		}
	}
	say("mount: files seen by it", "%d", n)
	return m.memory("after the walks")
}

// indexedMount is a mount whose index has all entries.
func indexedMount(ctx context.Context, s settings) (*mounted, error) {
	m, err := mount(ctx, s)
	if err != nil {
		return nil, err
	}
	before, err := m.loadNow(ctx)
	if err == nil {
		err = m.indexed(ctx, before)
	}
	if err != nil {
		return nil, errors.Join(err, m.end())
	}
	return m, nil
}

func mount(ctx context.Context, s settings) (*mounted, error) {
	dir, err := os.MkdirTemp("", "ctxfs-scale")
	if err != nil {
		return nil, err
	}
	m := &mounted{s: s, dir: dir, state: cmp.Or(s.state, filepath.Join(dir, "state"))}
	if err := os.Mkdir(m.point(), 0o755); err != nil {
		return nil, err
	}
	err = once("mount: until it serves", func() error { return m.run(ctx, nil, "mount", "--store", s.url, m.point()) })
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return m, m.memory("when it serves")
}

func (m *mounted) point() string { return filepath.Join(m.dir, "mnt") }

// run runs the command, whose output goes to out.
func (m *mounted) run(ctx context.Context, out *strings.Builder, args ...string) error {
	cmd := exec.CommandContext(ctx, m.s.program, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+m.state)
	if out != nil {
		cmd.Stdout = out
	}
	var wrong strings.Builder
	cmd.Stderr = &wrong
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ctxfs %s: %w\n%s", args[0], err, wrong.String())
	}
	return nil
}

func (m *mounted) end() error {
	return errors.Join(m.run(context.Background(), nil, "umount", m.point()), os.RemoveAll(m.dir))
}

// memory prints what the daemon takes.
func (m *mounted) memory(when string) error {
	text, err := os.ReadFile(filepath.Join(m.point(), ".ctxfs/stats"))
	if err != nil {
		return err
	}
	var stats struct {
		Memory int64 `json:"memoryBytes"`
		Nodes  int   `json:"nodes"`
	}
	if err := json.Unmarshal(text, &stats); err != nil {
		return err
	}
	say("daemon: memory "+when, "%s with %d nodes", mb(stats.Memory), stats.Nodes)
	return nil
}

// load is what the database has done so far.
type load struct {
	at             time.Time
	commits, tuple int64
}

func (m *mounted) loadNow(ctx context.Context) (l load, err error) {
	err = with(ctx, m.s.url, func(conn *pgx.Conn) error {
		l.at = time.Now()
		return conn.QueryRow(ctx, "SELECT xact_commit, tup_fetched FROM pg_stat_database WHERE datname = current_database()").Scan(&l.commits, &l.tuple)
	})
	return l, err
}

// indexed waits until the index has all entries, and prints what that took.
func (m *mounted) indexed(ctx context.Context, before load) error {
	for {
		text, err := os.ReadFile(filepath.Join(m.point(), ".ctxfs/index"))
		if err != nil {
			return err
		}
		var status struct {
			Path     string `json:"path"`
			Entries  int    `json:"entries"`
			Building bool   `json:"building"`
			Error    string `json:"error"`
		}
		if err := json.Unmarshal(text, &status); err != nil {
			return err
		}
		if status.Error != "" {
			return errors.New(status.Error)
		}
		if !status.Building {
			after, err := m.loadNow(ctx)
			if err != nil {
				return err
			}
			say("index: built, from the start of the mount on", "%.0f s, %d entries", time.Since(before.at).Seconds(), status.Entries)
			say("index: what that asked of the database", "%d transactions, %d rows", after.commits-before.commits, after.tuple-before.tuple)
			if err := m.indexSize(status.Path); err != nil {
				return err
			}
			return m.memory("when the index is built")
		}
		time.Sleep(time.Second)
	}
}

func (m *mounted) indexSize(path string) error {
	list, err := filepath.Glob(path + "*")
	if err != nil {
		return err
	}
	var all int64
	for _, name := range list {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		all += info.Size()
	}
	say("index: its file on this host", "%s", mb(all))
	return nil
}

// lists lists directories as `ls -l` does: each the first time, and one again.
func (m *mounted) lists(ctx context.Context) error {
	dirs, err := directories(ctx, m.s.url, m.s.rounds)
	if err != nil {
		return err
	}
	list := func(dir backing.Key) error {
		members, err := os.ReadDir(filepath.Join(m.point(), string(dir)))
		for _, e := range members {
			if err == nil {
				_, err = e.Info()
			}
		}
		if err == nil && len(members) != wanted {
			err = fmt.Errorf("%d members", len(members))
		}
		return err
	}
	i := 0
	err = m.s.times(fmt.Sprintf("mount: list a directory of %d with stat, the first time", wanted), func() error {
		i++
		return list(dirs[i-1])
	})
	if err != nil {
		return err
	}
	return m.s.times(fmt.Sprintf("mount: list a directory of %d with stat, again", wanted), func() error { return list(dirs[0]) })
}

// count walks dir as find(1) does, with a stat of each file.
func count(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		_, err = d.Info()
		return err
	})
	return n, err
}
