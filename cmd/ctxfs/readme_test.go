package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadmeSessionsRunAsTheyStand runs the terminal sessions of README.md,
// each in a home directory of its own, and compares what they print, line by
// line. Two things stand for what differs from run to run: "…" for any text
// within a line, and any time like 2026-02-21T15:10:00Z for any other such
// time.
func TestReadmeSessionsRunAsTheyStand(t *testing.T) {
	needFuse(t)
	sessions := readmeSessions(t)
	for _, s := range sessions {
		t.Run(s.heading, func(t *testing.T) {
			t.Parallel()
			runSession(t, s.steps)
		})
	}
	if len(sessions) < 5 {
		t.Errorf("README.md has only %d sessions", len(sessions))
	}
}

func runSession(t *testing.T, steps []step) {
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "ctxfs")); err != nil {
		t.Fatal(err)
	}
	const mark = "-- end of step --"
	var script strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&script, "%s\necho '%s'\n", s.command, mark)
	}
	g := &guard{work: home, store: filepath.Join(home, defaultStore), ctx: filepath.Join(home, "context")}
	cmd := exec.Command("bash")
	cmd.Dir = home
	cmd.Stdin = strings.NewReader(script.String())
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8",
		"XDG_STATE_HOME="+filepath.Join(home, "state"), "SFA_CONTEXT_STORE=", "SFA_CONFIG=", "CTXFS_AGENT=alice", "GORACE=atexit_sleep_ms=0")
	timer := time.AfterFunc(commandLimit, func() { t.Error(g.breakUp("the session of README.md takes too long")) })
	out, err := cmd.CombinedOutput()
	timer.Stop()
	if err != nil {
		t.Errorf("bash: %v", err)
	}
	if left := g.left(); left != "" {
		t.Error(g.breakUp("the session left " + left))
	}
	got := strings.Split(string(out), mark+"\n")
	if len(got) != len(steps)+1 {
		t.Fatalf("%d steps gave %d outputs:\n%s", len(steps), len(got)-1, out)
	}
	for i, s := range steps {
		if !s.output.MatchString(got[i]) {
			t.Errorf("$ %s\nprints\n%s\nand README.md says\n%s", s.command, got[i], s.text)
		}
	}
}

// step is a command of the session and what it is said to print.
type step struct {
	command, text string
	output        *regexp.Regexp
}

var timeRE = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// session is a block of README.md that begins with "```console".
type session struct {
	heading string // above it
	steps   []step
}

func readmeSessions(t *testing.T) []session {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []session
	heading, inside := "", false
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		line := sc.Text()
		switch {
		case line == "```console" && !inside:
			inside = true
			all = append(all, session{heading: heading})
		case line == "```" && inside:
			inside = false
			finish(t, &all[len(all)-1])
		case inside:
			all[len(all)-1].add(line)
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		}
	}
	if inside {
		t.Fatal("the last session of README.md does not end")
	}
	return all
}

// add takes a line of the block: a command, more of it, or what it prints.
func (s *session) add(line string) {
	last := len(s.steps) - 1
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		s.steps = append(s.steps, step{command: command})
	} else if more, ok := strings.CutPrefix(line, "> "); ok && last >= 0 && s.steps[last].text == "" {
		s.steps[last].command += "\n" + more
	} else if last >= 0 {
		s.steps[last].text += line + "\n"
	}
}

func finish(t *testing.T, s *session) {
	t.Helper()
	if len(s.steps) < 5 {
		t.Errorf("the session under %q has only %d commands", s.heading, len(s.steps))
	}
	for i := range s.steps {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(s.steps[i].text), "…", ".*")
		s.steps[i].output = regexp.MustCompile("^" + timeRE.ReplaceAllString(pattern, timeRE.String()) + "$")
	}
}
