package torture

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// frugal is a disk that keeps nothing but what was synced: of a file what it
// held when it was synced, of a directory the names that it had then. POSIX
// promises no more; no journal carries one thing with another.
type frugal struct {
	top   string
	born  map[uint64]os.FileMode         // by inode, the mode before the first change
	files map[uint64]keptFile            // by inode
	names map[uint64]map[string]keptName // by the directory's inode
	early map[earlyName]bool             // that were tried
	err   error
}

// earlyName is a name that was not synced, and may be there all the same.
type earlyName struct {
	dir  uint64 // inode
	name string
	ino  uint64
}

type keptFile struct {
	text string
	mode os.FileMode
	time time.Time
}

type keptName struct {
	ino      uint64
	keptFile // as the name was kept: without text, but for a link's target
}

func newFrugal(top string) *frugal {
	k := &frugal{top: top, born: map[uint64]os.FileMode{}, files: map[uint64]keptFile{}, names: map[uint64]map[string]keptName{}, early: map[earlyName]bool{}}
	k.sync(top)
	return k
}

// sync keeps what is at the path, which is about to be synced.
func (k *frugal) sync(path string) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return // removed, and open
	}
	f := keptFile{}
	if err == nil {
		f = keptFile{mode: info.Mode(), time: info.ModTime()}
		if f.mode.IsDir() {
			err = k.syncNames(path, ino(info))
		} else {
			var text []byte
			text, err = os.ReadFile(path)
			f.text = string(text)
		}
		k.files[ino(info)] = f
	}
	k.err = errors.Join(k.err, err)
}

func (k *frugal) syncNames(dir string, at uint64) (err error) {
	k.names[at], err = namesIn(dir)
	return err
}

func namesIn(dir string) (map[string]keptName, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]keptName{}
	for _, d := range all {
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n := keptName{ino(info), keptFile{mode: info.Mode(), time: info.ModTime()}}
		if n.mode&os.ModeSymlink != 0 {
			if n.text, err = os.Readlink(filepath.Join(dir, d.Name())); err != nil {
				return nil, err
			}
		}
		names[d.Name()] = n
	}
	return names, nil
}

// eachEarly calls f while one name more is kept, for each that was made since
// its directory was synced and that was not tried before: the disk may have
// written it, and no other. Of names that go none is taken: what a rename
// moves would be lost, which no sync in between can help.
func (k *frugal) eachEarly(f func() error) error {
	return filepath.WalkDir(k.top, func(dir string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			return ignoreMissing(err)
		}
		now, err := namesIn(dir)
		if err != nil {
			return ignoreMissing(err)
		}
		kept := k.names[ino(info)]
		for name, n := range now {
			early := earlyName{ino(info), name, n.ino}
			before, was := kept[name]
			_, synced := k.files[n.ino]
			if kept == nil || was && before.ino == n.ino || !synced || k.early[early] {
				continue
			}
			k.early[early] = true
			kept[name] = n
			err := f()
			if kept[name] = before; !was {
				delete(kept, name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// changing notes the mode of what is about to get another one: that is there
// when it is synced itself.
func (k *frugal) changing(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		k.err = errors.Join(k.err, err)
		return
	}
	if _, known := k.born[ino(info)]; !known {
		k.born[ino(info)] = info.Mode()
	}
}

// restore makes dir as the disk is after a loss of power now.
func (k *frugal) restore(dir string) error {
	info, err := os.Stat(k.top)
	if err != nil {
		return err
	}
	return errors.Join(k.err, k.restoreDir(dir, ino(info), map[uint64]string{}))
}

func (k *frugal) restoreDir(dir string, at uint64, made map[uint64]string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, n := range k.names[at] {
		path := filepath.Join(dir, name)
		f, synced := k.files[n.ino]
		if !synced {
			f = n.keptFile
			if mode, changed := k.born[n.ino]; changed {
				f.mode = mode
			}
		}
		first, again := made[n.ino]
		var err error
		switch {
		case f.mode.IsDir():
			err = k.restoreDir(path, n.ino, made)
		case again:
			err = os.Link(first, path)
		case f.mode&os.ModeSymlink != 0:
			err = os.Symlink(f.text, path)
		default:
			made[n.ino] = path
			err = os.WriteFile(path, []byte(f.text), 0o600)
		}
		if err == nil && f.mode&os.ModeSymlink == 0 {
			err = errors.Join(os.Chmod(path, f.mode.Perm()), os.Chtimes(path, f.time, f.time))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ino(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }
