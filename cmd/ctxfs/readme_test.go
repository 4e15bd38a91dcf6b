package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadmeSessionRunsAsItStands runs the terminal session of README.md in a
// home directory of its own and compares what it prints, line by line. Two
// things stand for what differs from run to run: "…" for any text within a
// line, and any time like 2026-02-21T15:10:00Z for any other such time.
func TestReadmeSessionRunsAsItStands(t *testing.T) {
	needFuse(t)
	steps := readmeSession(t)
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

// readmeSession reads the steps of the block that begins with "```console".
func readmeSession(t *testing.T) []step {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "\n```console\n")
	block, _, found := strings.Cut(block, "\n```\n")
	if !found {
		t.Fatal("README.md has no block that begins with ```console")
	}
	var steps []step
	for sc := bufio.NewScanner(strings.NewReader(block)); sc.Scan(); {
		line := sc.Text()
		last := len(steps) - 1
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: command})
		} else if more, ok := strings.CutPrefix(line, "> "); ok && last >= 0 && steps[last].text == "" {
			steps[last].command += "\n" + more
		} else if last >= 0 {
			steps[last].text += line + "\n"
		}
	}
	if len(steps) < 10 {
		t.Fatalf("the session of README.md has only %d commands", len(steps))
	}
	for i := range steps {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(steps[i].text), "…", ".*")
		steps[i].output = regexp.MustCompile("^" + timeRE.ReplaceAllString(pattern, timeRE.String()) + "$")
	}
	return steps
}
