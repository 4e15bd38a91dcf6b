package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const termLimit = 40 * time.Second // for a text to appear on the screen

// termCmd runs a program in a terminal (tmux), presses keys and looks at the
// screen:
//
//	term start PROGRAM ARGS…   in the script's directory
//	term keys KEY…             as tmux names them: Enter, Escape, C-x
//	term type TEXT             as it stands
//	term wait TEXT             until it is on the screen
//	term end                   until the program has ended
//	term said TEXT             it was on the screen at some time; ! never
func termCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg && args[0] != "said" {
		ts.Fatalf("usage: term start|keys|type|wait|end|said …")
	}
	g := guardOf(ts)
	what, rest := args[0], args[1:]
	if what == "start" {
		g.terms++ // the server of the one before may still be ending
	}
	x := terminal{ts, filepath.Join(g.work, ".term"), fmt.Sprintf(".sock%d", g.terms)}
	guardOf(ts).within(ts, 2*termLimit, "term "+what, func() {
		switch what {
		case "start":
			x.start(rest)
		case "keys":
			x.must(append([]string{"send-keys"}, rest...)...)
		case "type":
			x.must("send-keys", "-l", "--", strings.Join(rest, " "))
		case "wait":
			x.wait(strings.Join(rest, " "))
		case "end":
			if !poll(termLimit, func() bool { return !x.running() && !exists(g.termPID) }) {
				ts.Fatalf("the program has not ended; its screen:\n%s", x.screen())
			}
		case "said":
			x.said(strings.Join(rest, " "), neg)
		default:
			ts.Fatalf("term %s: no such thing", what)
		}
	})
}

type terminal struct {
	ts   *testscript.TestScript
	base string // of the socket's and the record's names
	sock string
}

// tmux is exec.Command and not the script's, whose log would hold each look at
// the screen.
func (x terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", x.base + x.sock}, args...)...)
	for _, name := range []string{"PATH", "HOME", "SHELL", "LC_ALL", "TERM", "CTX", "STORE", "CTXFS_AGENT", "XDG_STATE_HOME", "GORACE"} {
		cmd.Env = append(cmd.Env, name+"="+x.ts.Getenv(name))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (x terminal) must(args ...string) {
	_, err := x.tmux(args...)
	x.ts.Check(err)
}

// start begins the program with the record of all that it shows.
func (x terminal) start(program []string) {
	quoted := make([]string, len(program))
	for i, p := range program {
		quoted[i] = "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
	}
	x.must("new-session", "-d", "-x", "120", "-y", "40", "-c", x.ts.MkAbs("."),
		"exec "+strings.Join(quoted, " "), ";", "pipe-pane", "cat >> '"+x.base+".record'")
	pid, err := x.tmux("display-message", "-p", "#{pane_pid}")
	x.ts.Check(err)
	guardOf(x.ts).termPID, err = strconv.Atoi(strings.TrimSpace(pid))
	x.ts.Check(err)
	// Where all went well there is no server any more.
	x.ts.Defer(func() { _, _ = x.tmux("kill-server") })
}

// exists reports whether there is a process that has not ended. One that is
// ending has closed its terminal before it leaves its directory.
func exists(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

func (x terminal) running() bool {
	_, err := x.tmux("has-session")
	return err == nil
}

func (x terminal) screen() string {
	out, err := x.tmux("capture-pane", "-p")
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(out, "\n")
}

func (x terminal) wait(text string) {
	if !poll(termLimit, func() bool { return strings.Contains(x.screen(), text) }) {
		x.ts.Fatalf("%q is not on the screen:\n%s\n%s", text, x.screen(), guardOf(x.ts).log())
	}
}

func (x terminal) said(text string, neg bool) {
	record, err := os.ReadFile(x.base + ".record")
	x.ts.Check(err)
	if strings.Contains(string(record), text) == neg {
		x.ts.Fatalf("in what the terminal showed, %q: %v\n%q", text, !neg, record)
	}
}
