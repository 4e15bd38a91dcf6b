package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const nobody = 65534 // user and group id

// TestScriptsAsOrdinaryUser runs the scripts once more as a user without
// rights, whose mounts are made by fusermount3.
func TestScriptsAsOrdinaryUser(t *testing.T) { asOrdinaryUser(t, "^TestScripts$") }

// TestScriptsOnADatabaseAsOrdinaryUser does so with those on databases, where
// their full size is asked for.
func TestScriptsOnADatabaseAsOrdinaryUser(t *testing.T) {
	if fullSize() {
		asOrdinaryUser(t, "^TestScriptsOnA(Failing)?Database$")
	}
}

// asOrdinaryUser runs the tests that match pattern as a user without rights.
func asOrdinaryUser(t *testing.T, pattern string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("they run as an ordinary user already")
	}
	needFuse(t)
	// go test builds in a directory that only root may enter.
	dir, err := os.MkdirTemp("", "ctxfs-user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "scripts.test")
	tmp := filepath.Join(dir, "tmp")
	for _, step := range []func() error{
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return exec.Command("cp", self, bin).Run() },
		func() error { return os.Mkdir(tmp, 0o755) },
		func() error { return os.Chown(tmp, nobody, nobody) },
		func() error { return exec.Command("cp", "-r", "testdata", filepath.Join(dir, "testdata")).Run() },
		func() error { return exec.Command("chmod", "-R", "a+rX", dir).Run() },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-test.run=" + pattern, "-test.short=" + strconv.FormatBool(testing.Short())}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(deadline).Round(time.Second).String())
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+tmp, "TMPDIR="+tmp, "GOTMPDIR="+tmp, "USER=nobody", "LOGNAME=nobody")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("as user %d: %v", nobody, err)
	}
}
