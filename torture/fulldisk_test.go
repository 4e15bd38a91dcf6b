package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/torture/trace"
)

func TestAFullDiskRefusesLosesNothingAndWorksAgain(t *testing.T) {
	needRoot(t)
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, unix.Mount("torture", top, "tmpfs", 0, "size=2m"))
	defer func() { must(t, unix.Unmount(top, unix.MNT_DETACH)) }()
	dir := filepath.Join(top, "store")
	old, next := entry("Old", "Old text.", ""), entry("New", "New text.\n"+strings.Repeat(long, 20), "")
	use(t, dir, func(trace.Call) trace.Action { return trace.Action{} }, func(mount string) {
		if err := fullDisk(top, mount, old, next); err != nil {
			t.Error(err)
		}
	})
	s := look(t, dir)
	if lines := strings.Count(s["entry "+path("full")], "\n- "); lines != 1 {
		t.Errorf("%d lines in the changelog after one overwrite: %v", lines, s)
	}
	table.add("full disk: a tmpfs of 2 MiB, mounted", 1, 1, "ENOSPC, the old version stays, then it works again")
}

func fullDisk(top, mount, old, next string) error {
	file, another, filler := filepath.Join(mount, path("full")), filepath.Join(mount, path("another")), filepath.Join(top, "filler")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), writes(old)(file)); err != nil {
		return err
	}
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the disk does not become full: %v", err)
	}
	for range 3 {
		if err := writes(next)(file); !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("an overwrite on a full disk: %v", err)
		}
	}
	if err := writes(next)(another); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("a new entry on a full disk: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != old {
		return fmt.Errorf("on a full disk the old version is %q, %v", text, err)
	}
	if _, err := os.ReadDir(filepath.Dir(file)); err != nil {
		return fmt.Errorf("list a directory on a full disk: %w", err)
	}
	if err := errors.Join(os.Remove(filler), writes(next)(file), writes(next)(another)); err != nil {
		return fmt.Errorf("when there is space again: %w", err)
	}
	text, err := os.ReadFile(file)
	if err == nil && !strings.HasPrefix(string(text), next) {
		err = fmt.Errorf("the new version is %.200q", text)
	}
	return err
}
