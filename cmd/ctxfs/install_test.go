package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInstallBuildsAndMounts runs the README's first command into a home
// directory of its own, and what it says to try next.
func TestInstallBuildsAndMounts(t *testing.T) {
	needFuse(t)
	home := t.TempDir()
	dir := filepath.Join(home, "my context")
	g := &guard{work: home, store: filepath.Join(home, defaultStore), ctx: dir}
	keep := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return name + "=" + strings.TrimSpace(string(out))
	}
	environ := append(os.Environ(), keep("GOCACHE"), keep("GOMODCACHE"), keep("GOPATH"),
		"HOME="+home, "BINDIR="+filepath.Join(home, "bin"), "SFA_CONTEXT_STORE=", "SFA_CONFIG=", "XDG_STATE_HOME=")
	timer := time.AfterFunc(3*time.Minute, func() { t.Error(g.breakUp("scripts/install takes too long")) })
	defer timer.Stop()
	run := func(program string, args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(g.breakUp(string(out) + err.Error()))
		}
		return string(out)
	}
	said := run("../../scripts/install", dir)
	_, next, found := strings.Cut(said, "Try next:\n")
	if !found {
		t.Fatal(g.breakUp("it does not say what to try next:\n" + said))
	}
	again := run("../../scripts/install", dir)
	if !strings.Contains(again, "mounted already") {
		t.Errorf("the second time it says\n%s", again)
	}
	next, _, _ = strings.Cut(next, "\n\n(")
	tried := run("bash", "-ec", "PATH=$BINDIR:$PATH\n"+next)
	if !strings.Contains(tried, "# It works") || !strings.Contains(tried, "agent: alice") {
		t.Errorf("what it says to try prints\n%s", tried)
	}
	if left := g.left(); left != "" {
		t.Error(g.breakUp("it left " + left))
	}
}
