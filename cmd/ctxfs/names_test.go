package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ctxfs/codec"
)

// hostileNames are names that a user may think up, and an attacker.
var hostileNames = []string{
	"new\nline", "tab\tname", "return\r", "red\x1b[31m", "del\x7f", "c1\u009b31m", "turned\u202egpj", "zero\u200bwidth",
	"bad\xff\xfe", "cut\xe2\x82", "caf\u00e9", "cafe\u0301", "\u212bngstr\u00f6m", " ", " vars", "vars ", "Vars", "VARS", "v\u0430rs",
	"README ", "readme", ".ctxfs.", ".ctxfs ", ".Ctxfs", "results.", "memories\u200b", "...", "-rf", "*", "a\\b", "'; exit 1; '",
	"$(exit 1)", "%s%n", "#x#", "~", "x~", ".#lock", ".hidden", "con", "nul", "]: x", strings.Repeat("n", 255), strings.Repeat("\u00e9", 127),
	"20260221T143022-x.md\n", "20260221T143022-\u0430.md", "20260221T143022-x.MD", "20260221T143022-" + strings.Repeat("x", 236) + ".md", ".md",
}

// tryHostileNames is `try-names MOUNTPOINT`: makes files and
// directories of all these names in every room. What is taken must be there
// under exactly that name, whatever is asked; what is refused must be so for
// a reason that .ctxfs/errors tells.
func tryHostileNames() {
	top := os.Args[1]
	taken := map[string]int{}
	for _, dir := range []string{"", "alice", "alice/s1", "vars", "vars/global", "vars/session:s", "results", "memories", "memories/m", "invocations"} {
		for _, name := range hostileNames {
			path := filepath.Join(top, dir) + "/" + name
			made, err := tryName(path)
			if err != nil {
				exitOn(fmt.Errorf("%q in %q: %w", name, dir, err))
			}
			if made {
				taken[dir]++
			}
		}
		exitOn(checkErrors(top)) // which are about this directory only, as 100 are kept
	}
	for _, dir := range []string{"", "alice", "vars/global", "memories/m"} {
		if taken[dir] == 0 || taken[dir] == len(hostileNames) {
			exitOn(fmt.Errorf("%d of %d names were taken in %q", taken[dir], len(hostileNames), dir))
		}
	}
}

// tryName makes path a file, or where that is refused a directory.
func tryName(path string) (made bool, err error) {
	err = os.WriteFile(path, []byte(hostileContent), 0o644)
	if err == nil {
		return true, errors.Join(tryFile(path), tidy(path))
	}
	if _, serr := os.Lstat(path); serr == nil {
		return false, errors.Join(refusedWell(err), tidy(path)) // the content is refused, not the name
	}
	if err := refusedWell(err); err != nil {
		return false, err
	}
	if err = os.Mkdir(path, 0o755); err != nil {
		return false, refusedWell(err)
	}
	return true, errors.Join(listed(path), os.Remove(path))
}

// hostileContent is what a file gets: no entry, no result, no JSON.
const hostileContent = "x\n"

func tryFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil || string(text) != hostileContent {
		return fmt.Errorf("it reads %q: %w", text, err)
	}
	if err := listed(path); err != nil {
		return err
	}
	other := filepath.Join(filepath.Dir(path), "plain.txt")
	if err := os.Rename(path, other); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("it is still there after a rename: %w", err)
	}
	return os.Rename(other, path)
}

// listed finds path in its directory, where names with a dot are not always
// listed.
func listed(path string) error {
	members, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Name() == filepath.Base(path) {
			return nil
		}
	}
	return errors.New("it is not listed")
}

// tidy removes what can be removed; a pending entry goes as any file does.
func tidy(path string) error {
	err := os.Remove(path)
	if rerr := os.Remove(path + ".rej"); rerr != nil && !errors.Is(rerr, os.ErrNotExist) && !errors.Is(rerr, syscall.ENAMETOOLONG) {
		err = errors.Join(err, rerr)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// refusedWell is nil where err is a refusal; those of the first kind tell a
// reason in errors.
func refusedWell(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case syscall.EINVAL, syscall.EPERM, syscall.EACCES:
		return nil
	case syscall.ENAMETOOLONG, syscall.EEXIST, syscall.EISDIR, syscall.ENOTDIR, syscall.EROFS:
		return nil // which say it themselves
	}
	return fmt.Errorf("an unexpected error: %w", err)
}

// checkErrors sees that every line of .ctxfs/errors is JSON without control
// characters, with a reason and a way out.
func checkErrors(top string) error {
	text, err := os.ReadFile(filepath.Join(top, ".ctxfs/errors"))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var r struct{ Path, Reason, Fix string }
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("%q in errors: %w", line, err)
		}
		told := strings.TrimSuffix(string(line), "\n")
		if r.Path == "" || r.Reason == "" || r.Fix == "" || strings.ContainsFunc(told, codec.Unprintable) {
			return fmt.Errorf("errors say %q", told)
		}
	}
	return nil
}
