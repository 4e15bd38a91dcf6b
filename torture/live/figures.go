package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Figures are what must not grow.
type Figures struct {
	Nodes      int `json:"nodes"` // that the kernel knows
	Drafts     int `json:"drafts"`
	Goroutines int `json:"goroutines"`
	Files      int `json:"-"` // descriptors
	Faults     int `json:"faults"`
	// Held are the contents in the store that the daemon has open.
	Held []string `json:"-"`
}

// Figures drops what the kernel keeps of this mount and asks the daemon.
func (d *Daemon) Figures() (f Figures, err error) {
	// A remount drops the kernel's names of a mount; inodes without one go too.
	if err := unix.Mount("", d.Point, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return f, fmt.Errorf("drop the kernel's names: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(d.Point, ".ctxfs/stats"))
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, err
	}
	fds := fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid)
	files, err := os.ReadDir(fds)
	f.Files = len(files)
	for _, file := range files {
		path, lerr := os.Readlink(filepath.Join(fds, file.Name()))
		if errors.Is(lerr, fs.ErrNotExist) { // closed meanwhile
			continue
		}
		err = errors.Join(err, lerr)
		if name, in := strings.CutPrefix(path, d.Store+"/"); in && content(name) {
			f.Held = append(f.Held, name)
		}
	}
	return f, err
}

// content reports whether the file of that name in the store is something that
// users have put there, or a version of it.
func content(name string) bool {
	own, in := strings.CutPrefix(name+"/", ".ctxfs/")
	return !in || strings.HasPrefix(own, "versions/") || strings.HasPrefix(own, "staging/") || strings.HasPrefix(own, "vars-spill/")
}
