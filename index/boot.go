package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The index is written without fsync, since it can be made anew. What was
// written survives the end of the process in the kernel's cache, but a power
// cut may leave any part of it, which SQLite does not always notice. So while
// the file may not be on disk as a whole, a mark beside it names the boot of
// the machine: one of an earlier boot condemns the index.
const markSuffix = "-boot"

// bootFile holds an identifier of the machine's boot.
const bootFile = "/proc/sys/kernel/random/boot_id"

// bootID is "" where the kernel does not tell, which equals no mark.
func bootID() string {
	text, err := os.ReadFile(bootFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// mark notes, durably, that the index at path is about to be written to.
func mark(path string) error {
	f, err := os.OpenFile(path+markSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("mark the index as written to: %w", err)
	}
	_, err = f.WriteString(bootID())
	if err = errors.Join(err, f.Sync(), f.Close(), syncPath(filepath.Dir(path))); err != nil {
		return fmt.Errorf("mark the index as written to: %w", err)
	}
	return nil
}

// condemned reports whether the index at path may be damaged by a power cut.
func condemned(path string) (bool, error) {
	text, err := os.ReadFile(path + markSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the index is whole: %w", err)
	}
	return len(text) == 0 || string(text) != bootID(), nil
}

// unmark brings the closed index at path to the disk and takes the mark away.
func unmark(path string) error {
	if _, err := os.Lstat(path + markSuffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := syncPath(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("bring the index to the disk: %w", err)
		}
	}
	if err := os.Remove(path + markSuffix); err != nil {
		return fmt.Errorf("mark the index as whole: %w", err)
	}
	return nil
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
