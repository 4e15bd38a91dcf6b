package torture

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// request is what a program does on a mount.
type request struct {
	what string
	do   func(mount string) error
}

func writing(what, file, text string, flags int) request {
	return request{what, func(mount string) error {
		f, err := os.OpenFile(filepath.Join(mount, file), os.O_WRONLY|os.O_CREATE|flags, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}}
}

func reading(what, file string) request {
	return request{what, func(mount string) error {
		text, err := os.ReadFile(filepath.Join(mount, file))
		if err == nil && len(text) == 0 {
			err = fmt.Errorf("%s is empty", file)
		}
		return err
	}}
}

func lists(dir string) request {
	return request{"list " + dir, func(mount string) error { _, err := os.ReadDir(filepath.Join(mount, dir)); return err }}
}

const slowResult = `{"toolName":"t","args":{},"result":"r","timestamp":"2026-02-22T10:00:00Z","queryId":"q","sessionId":"%s"}`

// stalls are requests that wait for the disk in a place of their own, and the
// operation of the store in which they do.
var stalls = []struct {
	request
	op   string
	key  backing.Key
	same string // what the kernel holds back: it writes no file that it syncs
}{
	{writing("a new entry", "slow/20260221T143022-new.md", entryOf("slow"), os.O_EXCL), "put", "slow/20260221T143022-new.md", ""},
	{writing("an overwrite", "slow/20260221T143022-x.md", entryOf("slow")+"More.\n", os.O_TRUNC), "put", "slow/20260221T143022-x.md", ""},
	{reading("the first read of an entry", "slow/20260221T143022-x.md"), "open", "slow", ""},
	{lists("slow"), "list", "slow", ""},
	{request{"a session's directory", func(mount string) error { return os.Mkdir(mount+"/slow/s", 0o755) }}, "mkdir", "slow", ""},
	{writing("a variable", "vars/agent:slow/k", "v", os.O_TRUNC), "put", "vars/agent:slow", ""},
	{writing("a spilled variable", "vars/session:slow/k", strings.Repeat("x", 40<<10), os.O_TRUNC), "put", ".ctxfs", ""},
	{request{"a removed variable", func(mount string) error { return os.Remove(mount + "/vars/agent:slow/old") }}, "remove", "vars/agent:slow", ""},
	{writing("a context", "memories/slow/context.md", "text", os.O_TRUNC), "rename", "memories/slow", ""},
	{request{"a synced invocation", syncs("invocations/context.jsonl", `{"tool_name":"t","params":{},"result":null}`+"\n", os.O_APPEND)}, "sync", "invocations", "an invocation"},
	{writing("a tool result", "results/slow-t-1.json", fmt.Sprintf(strings.Replace(slowResult, `"r"`, `"`+strings.Repeat("r", 40<<10)+`"`, 1), "slow"), os.O_EXCL), "put", "results", ""},
	{lists(".ctxfs/versions/slow/20260221T143022-x.md"), "versions", "slow", ""},
}

func entryOf(agent string) string {
	return strings.Replace(entry("Title", "Text.", ""), "alice", agent, 1)
}

// besides are requests that have nothing to do with what stalls.
var besides = []request{
	reading("a cached read", path("cached")),
	{"stat", func(mount string) error { _, err := os.Stat(mount + "/" + path("cached")); return err }},
	lists(""), lists("alice"), lists("vars/global"), lists("memories"),
	reading("an entry nobody has read", path("cold")),
	reading("README", "README"),
	reading("the statistics", ".ctxfs/stats"),
	reading("the refusals", ".ctxfs/errors"),
	writing("a new entry", path("new"), entry("New", "Text.", ""), os.O_TRUNC),
	writing("an overwrite", path("cached"), entry("New", "More.", ""), os.O_TRUNC),
	writing("an ordinary file", "alice/notes.txt", "notes", os.O_TRUNC),
	writing("a session's variable", "vars/session:s/k", "v", os.O_TRUNC),
	reading("a session's variable, read", "vars/session:s/k"),
	writing("a global variable", "vars/global/k", "v", os.O_TRUNC),
	reading("a global variable, read", "vars/global/k"),
	reading("a ref", "vars/global/.ref/k"),
	reading("what an agent sees", "vars/self/k"),
	reading("a context", "memories/m/context.md"),
	writing("an invocation", "invocations/context.jsonl", `{"tool_name":"t","params":{},"result":null}`+"\n", os.O_APPEND),
	writing("a small result", "results/s-t-2.json", fmt.Sprintf(slowResult, "s"), os.O_TRUNC),
	reading("a small result, read", "results/s-t-2.json"),
	{"statfs", func(mount string) error { var s unix.Statfs_t; return unix.Statfs(mount, &s) }},
}

// TestWhatNeedsNoDiskDoesNotWaitForOne lets one request wait in the store, and
// sends others. Nothing here depends on how long anything takes.
func TestWhatNeedsNoDiskDoesNotWaitForOne(t *testing.T) {
	needRoot(t)
	for _, stall := range stalls {
		t.Run(stall.what, func(t *testing.T) {
			s, mount := mountSlow(t)
			g := s.shut(stall.op, stall.key)
			release := sync.OnceFunc(func() { close(g.open) })
			defer release()
			ended := make(chan error, 1)
			go func() { ended <- stall.do(mount) }()
			if strings.HasPrefix(string(stall.key), "memories") { // it is queued
				must(t, <-ended)
				ended <- nil
			}
			select {
			case <-g.reached:
			case <-time.After(slowPatience):
				t.Fatalf("it does not come to %s %s", stall.op, stall.key)
			}
			tried, held := 0, 0
			for _, r := range besides {
				if r.what == stall.same {
					continue
				}
				tried++
				if answered(t, r, mount) {
					held++
				}
			}
			release()
			if err := <-ended; err != nil {
				t.Errorf("when the disk is back: %v", err)
			}
			table.add("slow disk: requests beside "+stall.what, tried, held, "the store's "+stall.op+" waits")
		})
	}
}

const slowPatience = 30 * time.Second

func answered(t *testing.T, r request, mount string) bool {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.do(mount) }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", r.what, err)
		}
		return err == nil
	case <-time.After(slowPatience):
		t.Errorf("%s waits for the disk of something else", r.what)
		return false
	}
}

// mountSlow mounts a store with something in it, of which what besides reads
// from the kernel's memory has been read.
func mountSlow(t *testing.T) (*slowStore, string) {
	t.Helper()
	w := &world{}
	var err error
	w.store, err = localdir.Open(filepath.Join(t.TempDir(), "store"), localdir.Options{Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	s := &slowStore{Store: w.store}
	must(t, w.openRooms(s, "slow", "", slog.New(slog.DiscardHandler)))
	mount := t.TempDir()
	fs, err := w.mount(mount, s)
	must(t, err)
	t.Cleanup(func() {
		if err := fs.Unmount(); err != nil {
			t.Errorf("unmount: %v", err)
			must(t, fs.Detach())
		}
		fs.Wait()
		must(t, w.close())
	})
	for _, dir := range []string{"alice", "slow", "memories/m", "memories/slow"} {
		must(t, os.Mkdir(filepath.Join(mount, dir), 0o755))
	}
	for _, r := range []request{
		writing("", path("cached"), entry("Old", "Text.", ""), 0), writing("", path("cold"), entry("Old", "Text.", ""), 0),
		writing("", "slow/20260221T143022-x.md", entryOf("slow"), 0), writing("", "slow/20260221T143022-x.md", entryOf("slow")+"2\n", os.O_TRUNC),
		writing("", "vars/agent:slow/old", "v", 0), writing("", "vars/global/k", "v", 0), writing("", "memories/m/context.md", "text", 0),
		reading("", path("cached")), lists(""), lists("alice"), lists("vars/global"), lists("memories"), reading("", "memories/m/context.md"),
		writing("", "results/refused-t.json", "", 0),
	} {
		if err := r.do(mount); err != nil && r.what != "" {
			t.Fatal(err)
		}
	}
	return s, mount
}
