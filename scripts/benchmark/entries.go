package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A store of 20,000 entries has 50 agents with 10 sessions each, hence 550
// directories of 36 or 37 entries; others are made in proportion.
const (
	entriesPerAgent  = 400
	sessionsPerAgent = 10
	smallest, span   = 1500, 8500 // bytes of an entry, 5.75 KB on average
)

// absent is what the walks look for: a string that no entry holds.
const absent = "zzzznotfound"

// firstEntry is the time in the name of the first entry.
var firstEntry = time.Date(2026, 2, 21, 14, 30, 22, 0, time.UTC)

// makeStore makes a store of n complete entries in dir, the same ones each
// time, and returns the path of the last one, from dir.
func makeStore(ctx context.Context, dir string, n int) (string, error) {
	progress("making a store of %d entries", n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	agents := (n + entriesPerAgent - 1) / entriesPerAgent
	dirs := agents * (sessionsPerAgent + 1)
	var path string
	for i := range n {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		agent, session := place(i % dirs)
		sub := filepath.Join(agent, session)
		if i < dirs {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				return "", fmt.Errorf("make a store: %w", err)
			}
		}
		at := firstEntry.Add(time.Duration(i) * time.Second)
		path = filepath.Join(sub, entryName(at, i))
		text := entry(r, agent, session, at, smallest+r.IntN(span))
		if err := os.WriteFile(filepath.Join(dir, path), text, 0o644); err != nil {
			return "", fmt.Errorf("make a store: %w", err)
		}
	}
	// Writing back half a gigabyte would disturb what is measured next.
	return path, within(ctx, sizeLimit(n), "sync the store", func() error { return syncAll(dir) })
}

// syncAll writes back the file system that holds dir.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}

// place names the agent and the session of the i-th directory; each agent's
// own directory, with no session, is the first of its eleven.
func place(i int) (agent, session string) {
	agent = fmt.Sprintf("agent-%03d", i/(sessionsPerAgent+1))
	if s := i % (sessionsPerAgent + 1); s > 0 {
		session = fmt.Sprintf("session-%02d", s)
	}
	return agent, session
}

func entryName(at time.Time, i int) string {
	return fmt.Sprintf("%s-note-%06d.md", at.Format("20060102T150405"), i)
}

var words = strings.Fields(`the query plan shows a nested loop over invoices because
	statistics are stale and index is partial so an analyze run brings back hash join
	latency falls from seconds to milliseconds retry budget stays within limits cache
	misses were caused by key order not by eviction tests pass again`)

// entry returns a complete entry of exactly size bytes, to which nothing has
// to be added.
func entry(r *rand.Rand, agent, session string, at time.Time, size int) []byte {
	if session == "" {
		session = "session-00"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "---\nagent: %s\nsessionId: %s\ntimestamp: %s\ntype: finding\ntags: [performance, sql]\n---\n\n# Finding\n\n",
		agent, session, at.Format(time.RFC3339))
	for b.Len() < size {
		b.WriteString(words[r.IntN(len(words))])
		if r.IntN(12) == 0 {
			b.WriteString(".\n")
		} else {
			b.WriteByte(' ')
		}
	}
	b.Truncate(size - 1)
	b.WriteByte('\n')
	return b.Bytes()
}

// countEntries walks dir and counts the entries: a mount that shows nothing
// would be walked fastest of all.
func countEntries(dir string) (int, error) {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".md") {
			n++
		}
		if err == nil && d.IsDir() && d.Name() == ".ctxfs" {
			return fs.SkipDir
		}
		return err
	})
	return n, err
}
