package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// check fails the script unless err is what neg asks for.
func checked(ts *testscript.TestScript, neg bool, what string, err error) {
	if neg && err == nil {
		ts.Fatalf("%s succeeded, and should not", what)
	}
	if !neg && err != nil {
		ts.Fatalf("%s: %v\n%s", what, err, guardOf(ts).log())
	}
}

// mountCmd is `mount [flags]`: mounts $STORE at $CTX.
func mountCmd(ts *testscript.TestScript, neg bool, args []string) {
	g := guardOf(ts)
	g.within(ts, commandLimit, "mount", func() {
		err := ts.Exec("ctxfs", append(append([]string{"mount", "--store", g.store}, args...), g.ctx)...)
		checked(ts, neg, "mount", err)
	})
}

// umountCmd is `umount`: ends the mount at $CTX, and sees that nothing of it
// is left: no mount, no daemon, no staging file.
func umountCmd(ts *testscript.TestScript, neg bool, args []string) {
	g := guardOf(ts)
	g.within(ts, commandLimit, "umount", func() {
		err := ts.Exec("ctxfs", append(append([]string{"umount"}, args...), g.ctx)...)
		checked(ts, neg, "umount", err)
	})
	if neg {
		return
	}
	// A program that is just ending still holds its files, and with them the
	// daemon.
	if !poll(commandLimit, func() bool { return g.left() == "" }) {
		ts.Fatalf("umount left %s\n%s", g.left(), g.log())
	}
}

// daemonCmd is `daemon SIGNAL`: sends it to the daemon of $CTX; and
// `daemon gone`: waits until there is none.
func daemonCmd(ts *testscript.TestScript, neg bool, args []string) {
	g := guardOf(ts)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: daemon SIGNAL | daemon gone")
	}
	if args[0] == "gone" {
		if !poll(commandLimit, func() bool { return len(g.daemons()) == 0 && unlocked(g.store) }) {
			ts.Fatalf("daemons %v are still there", g.daemons())
		}
		return
	}
	pids := g.daemons()
	if len(pids) != 1 {
		ts.Fatalf("there are daemons %v, and not one", pids)
	}
	ts.Check(ts.Exec("kill", "-"+args[0], strconv.Itoa(pids[0])))
}

// unlocked reports whether nobody has the lock of a store: a process that is
// ending has lost its command line before it gives up its files.
func unlocked(store string) bool {
	f, err := os.OpenFile(filepath.Join(store, ".ctxfs/lock"), os.O_RDWR, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// poll asks until cond holds, for at most limit.
func poll(limit time.Duration, cond func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for {
		if cond() {
			return true
		}
		select {
		case <-tick.C:
		case <-end:
			return cond()
		}
	}
}

// withinCmd is `within DURATION PROGRAM ARGS…`: runs the program until it
// succeeds (with !, until it fails), for at most that long.
func withinCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: within DURATION PROGRAM [ARG…]")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	if args[1] == "exec" {
		args = append(args[:1], args[2:]...)
	}
	loop := "until"
	if neg {
		loop = "while"
	}
	guardOf(ts).within(ts, limit+commandLimit, "within", func() {
		// One shell for all tries, so that the script's log has one line.
		again := []string{fmt.Sprint(limit.Seconds()), "bash", "-c", loop + ` "$@" >/dev/null 2>&1; do sleep 0.02; done`, "within"}
		if ts.Exec("timeout", append(again, args[1:]...)...) != nil {
			ts.Fatalf("not within %v: %s\n%s", limit, strings.Join(args[1:], " "), guardOf(ts).log())
		}
	})
}

var changelogLine = regexp.MustCompile(`^- \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) \[[^\]]+\]: \S.*$`)

// changelogCmd is `changelog N FILE [REGEXP…]`: the file has N changelog lines,
// each well formed, and the last ones match the expressions.
func changelogCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: changelog N FILE [REGEXP…]")
	}
	text, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	var lines []string
	_, section, _ := strings.Cut(string(text), "\n## Changelog\n")
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		if !changelogLine.MatchString(line) {
			ts.Fatalf("%s: not a changelog line: %q in\n%s", args[1], line, text)
		}
		lines = append(lines, line)
	}
	if strconv.Itoa(len(lines)) != args[0] {
		ts.Fatalf("%s: %d changelog lines, want %s:\n%s\n%s", args[1], len(lines), args[0], text, guardOf(ts).log())
	}
	for i, want := range args[2:] {
		got := lines[len(lines)-len(args[2:])+i]
		if !regexp.MustCompile(want).MatchString(got) {
			ts.Fatalf("%s: changelog line %q does not match %q", args[1], got, want)
		}
	}
}

// versionsCmd is `versions N FILE`: N overwritten versions of the file are
// kept, 1 to N, each of them readable and whole.
func versionsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: versions N FILE")
	}
	g := guardOf(ts)
	rel, err := filepath.Rel(g.ctx, ts.MkAbs(args[1]))
	ts.Check(err)
	dir := filepath.Join(g.ctx, ".ctxfs/versions", rel)
	names, err := os.ReadDir(dir)
	if err != nil && args[0] != "0" {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(len(names)) != args[0] {
		ts.Fatalf("%s: %d versions, want %s\n%s", args[1], len(names), args[0], g.log())
	}
	for n := 1; n <= len(names); n++ {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(n)))
		ts.Check(err)
		if !strings.HasPrefix(string(text), "---\n") || !strings.HasSuffix(string(text), "\n") {
			ts.Fatalf("version %d of %s is not whole: %q", n, args[1], text)
		}
	}
}
