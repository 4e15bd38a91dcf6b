package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ctxfs/access"
)

func homeDir() (string, error) {
	home := os.Getenv("HOME")
	if home == "" {
		return "", errors.New("$HOME is not set; name the mountpoint")
	}
	return home, nil
}

// absolute returns path absolute and clean, with the symbolic links of its
// directory followed but path itself untouched: a stat of a mountpoint asks
// its daemon, which may hang or be dead.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	dir, err := resolve(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// resolve follows the symbolic links in path, as far as it exists, stopping
// short of ctxfs mountpoints for the reason given at absolute.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	all, err := mounts()
	if err != nil {
		return "", err
	}
	if _, ok := ctxfsAbove(all, abs); ok {
		return abs, nil
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	dir, err := resolve(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// prepareMountpoint makes the directory at point and sees that store can be
// mounted there. What it mended on the way it tells say.
func prepareMountpoint(point string, store access.Location, say func(string)) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	if m, ok := mountAt(all, point); ok && m.Type == fstype {
		if err := recoverStale(m, say); err != nil {
			return err
		}
		if all, err = mounts(); err != nil {
			return err
		}
	}
	if point, err = resolve(point); err != nil {
		return err
	}
	if m, ok := ctxfsAbove(all, point); ok {
		return fmt.Errorf("the mountpoint %s lies inside the ctxfs mount at %s", point, m.Point)
	}
	switch {
	case store.Remote():
	case insideAnywhere(all, point, store.Name):
		return fmt.Errorf("the mountpoint %s lies inside the store %s", point, store)
	case insideAnywhere(all, store.Name, point):
		return fmt.Errorf("the store %s lies inside the mountpoint %s, which would hide it", store, point)
	}
	return makeEmptyDir(point)
}

// recoverStale unmounts what a crashed daemon left; a mount that lives is an
// error.
func recoverStale(m mount, say func(string)) error {
	_, state := probe(m.Point)
	if state != stale {
		return fmt.Errorf("%s is mounted already, with the store %s (%s); `ctxfs umount %s` ends that", m.Point, m.Source, state, m.Point)
	}
	if err := detach(m.Point); err != nil {
		return fmt.Errorf("unmount what a crashed daemon left at %s: %w", m.Point, err)
	}
	say(fmt.Sprintf("unmounted %s first, which a crashed daemon had left", m.Point))
	return nil
}

func makeEmptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the mountpoint: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("look into the mountpoint: %w", err)
	}
	defer f.Close()
	if names, _ := f.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("the mountpoint %s is not empty (it holds %q); mounting would hide what it holds", dir, names[0])
	}
	return nil
}

// detach takes the mount at point out of the tree, also while files are open.
func detach(point string) error {
	err := unix.Unmount(point, unix.MNT_DETACH)
	if errors.Is(err, unix.EPERM) {
		return fusermount(point, "-u", "-z")
	}
	return err
}
