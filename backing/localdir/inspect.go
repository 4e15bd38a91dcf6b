package localdir

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// What a check of a store wants to know of what the store keeps for itself.

// Staged is how many files lie in staging, and their size in bytes: content
// on its way into the store, or what a crash left of that.
func (s *Store) Staged(ctx context.Context) (files int, size int64, err error) {
	if err := s.begin(""); err != nil {
		return 0, 0, err
	}
	defer s.end()
	fd, err := s.tree.dir(stagingDir)
	if err == unix.ENOENT {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, told("list", stagingDir, err)
	}
	defer unix.Close(fd)
	page, err := s.page(ctx, fd, stagingDir, "", maxListedNames)
	for _, m := range page {
		files++
		size += m.Size
	}
	return files, size, told("list", stagingDir, err)
}

// Versioned implements [backing.Versioned].
func (s *Store) Versioned(ctx context.Context, f func(backing.Key) error) error {
	if err := s.begin(""); err != nil {
		return err
	}
	defer s.end()
	return s.versioned(ctx, "", f)
}

func (s *Store) versioned(ctx context.Context, key backing.Key, f func(backing.Key) error) error {
	kept, dirs, err := s.versionNames(key)
	if err == nil && kept && key != "" {
		err = f(key)
	}
	for _, name := range dirs {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			break
		}
		err = s.versioned(ctx, key.Join(name), f)
	}
	return err
}

// versionNames says whether versions are kept of key, and which directories
// lie beside them.
func (s *Store) versionNames(key backing.Key) (kept bool, dirs []string, err error) {
	dir := versionsDir
	if key != "" {
		dir += "/" + key
	}
	fd, err := s.tree.dir(dir)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return false, nil, nil // removed meanwhile
	}
	if err != nil {
		return false, nil, told("list", dir, err)
	}
	defer unix.Close(fd)
	names, err := readNames(fd, dir)
	for i := 0; i < len(names) && err == nil; i++ {
		var st *stat
		if st, err = lookAt(fd, names[i]); st == nil {
			continue
		}
		if st.isDir() {
			dirs = append(dirs, names[i])
		} else {
			kept = true
		}
	}
	return kept, dirs, told("list", dir, err)
}

// Written reports whether a process holds the lock of the store in dir, as far
// as this one can see (not on btrfs and overlayfs): without taking the lock itself, which could turn
// another away that wants it just then.
func Written(dir string) (bool, error) {
	var st unix.Stat_t
	err := unix.Stat(dir+"/"+string(lockFile), &st)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lock of %s: %w", dir, err)
	}
	f, err := os.Open("/proc/locks")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lock of %s: %w", dir, err)
	}
	defer f.Close()
	// 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF. On btrfs and overlayfs
	// the device is another one than stat(2) says.
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if w := strings.Fields(sc.Text()); len(w) > 5 && w[1] == "FLOCK" && w[5] == inode {
			return true, nil
		}
	}
	return false, sc.Err()
}
