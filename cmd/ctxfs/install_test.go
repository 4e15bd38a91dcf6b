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
		"HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_RUNTIME_DIR="+home, "DBUS_SESSION_BUS_ADDRESS=", "BINDIR="+filepath.Join(home, "bin"), "SFA_CONTEXT_STORE=", "SFA_CONFIG=", "XDG_STATE_HOME=")
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
	again := run("../../scripts/install", "--systemd", dir)
	if !strings.Contains(again, "is mounted by the daemon that runs") {
		t.Errorf("the second time it says\n%s", again)
	}
	checkInstalled(t, home, dir)
	next, _, _ = strings.Cut(next, "\n\n(")
	tried := run("bash", "-ec", "PATH=$BINDIR:$PATH\n"+next)
	if !strings.Contains(tried, "# It works") || !strings.Contains(tried, "agent: alice") {
		t.Errorf("what it says to try prints\n%s", tried)
	}
	if left := g.left(); left != "" {
		t.Error(g.breakUp("it left " + left))
	}
}

// checkInstalled looks at what stands beside the program, and at the unit.
func checkInstalled(t *testing.T, home, mountpoint string) {
	for name, want := range map[string]string{
		"share/man/man1/ctxfs-mount.1":               "kernel caches",
		"share/bash-completion/completions/ctxfs":    "__complete",
		"share/zsh/site-functions/_ctxfs":            "#compdef ctxfs",
		"share/fish/vendor_completions.d/ctxfs.fish": "complete -c ctxfs",
		"config/systemd/user/ctxfs.service":          `ExecStart="` + home + `/bin/ctxfs" mount --foreground "` + mountpoint + `"`,
	} {
		text, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is without %q: %v", name, want, err)
		}
	}
}
