package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// readEntry reads in small pieces, and does other things in between.
func (w *worker) readEntry() error {
	path := w.some()
	b, err := w.readSlowly(path)
	if err == nil {
		err = checkEntry(b)
	}
	return in(path, err)
}

func (w *worker) get() error {
	path := hotVariable(w.rand.IntN(hotVariables))
	b, err := w.readSlowly(path)
	if err == nil {
		err = checkSealed(b)
	}
	return in(path, err)
}

func in(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// slowest is how deep one slow read may stand in another.
const slowest = 3

// pause is other work while a file is open.
func (w *worker) pause() {
	if w.deep >= slowest || w.ended {
		return
	}
	w.deep++
	w.any()
	w.deep--
}

func (w *worker) readSlowly(path string) ([]byte, error) {
	f, err := os.Open(w.at(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []byte
	rest := w.rand.IntN(4) // pauses
	for first := true; ; first = false {
		if rest > 0 && w.rand.IntN(3) == 0 || first && w.rand.IntN(4) == 0 {
			rest--
			w.pause()
		}
		piece := make([]byte, 1+w.rand.IntN(5000))
		n, err := f.Read(piece)
		all = append(all, piece[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	info, err := f.Stat()
	if err == nil && info.Size() != int64(len(all)) {
		err = fmt.Errorf("%d bytes were read, and stat says %d", len(all), info.Size())
	}
	return all, err
}

// readMapped reads an entry or a variable through memory.
func (w *worker) readMapped() (err error) {
	path, check := w.some(), checkEntry
	if w.rand.IntN(3) == 0 {
		path, check = hotVariable(w.rand.IntN(hotVariables)), checkSealed
	}
	f, err := os.Open(w.at(path))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	how := []int{unix.MAP_SHARED, unix.MAP_PRIVATE}[w.rand.IntN(2)]
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, how)
	if err = errors.Join(err, f.Close()); err != nil {
		return in(path, err)
	}
	defer func() {
		if r := recover(); r != nil && !w.Ends {
			err = fmt.Errorf("%s, mapped: %v", path, r)
		}
		debug.SetPanicOnFault(false)
		err = errors.Join(err, unix.Munmap(b))
	}()
	debug.SetPanicOnFault(true)
	all := bytes.Clone(b[:min(len(b), 1+w.rand.IntN(9000))])
	w.pause()
	debug.SetPanicOnFault(true) // the pause may have ended it
	return in(path, check(append(all, b[len(all):]...)))
}

// readdir lists the directory that only this process writes to.
func (w *worker) readdir() error {
	got, err := names(w.at(w.agent))
	if err != nil {
		return err
	}
	var want []string
	for _, path := range w.own {
		want = append(want, filepath.Base(path))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s lists %v, and %v were made", w.agent, got, want)
	}
	return nil
}

func (w *worker) readdirHot() error {
	got, err := names(w.at(w.hot.dir))
	if err != nil {
		return err
	}
	for i := range hotEntries {
		if name := filepath.Base(w.hot.entry(i)); !slices.Contains(got, name) {
			return fmt.Errorf("%s is missing in %v", name, got)
		}
	}
	for _, name := range got {
		if !strings.Contains(name, "-hot") {
			return fmt.Errorf("%s is there in %v", name, got)
		}
	}
	return nil
}

func names(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all, err
}

// rg finds one end in each entry, and each entry. It is to say so of an entry in
// which it finds none, and of one with zeros in it, as torn pages have.
func (w *worker) rg() error {
	dir, want := w.hot.dir, hotEntries
	if w.rand.IntN(2) == 0 {
		dir, want = w.agent, len(w.own)
	}
	args := []string{"--no-config", "-c", "--include-zero", "--text", "--glob=*.md", "^end of "}
	if w.rand.IntN(2) == 0 {
		args = append(args, "--mmap")
	}
	cmd := exec.Command("rg", append(args, w.at(dir))...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
			if w.Ends {
				err = errors.Join(err, unix.ENOTCONN) // what it says is not worth telling apart
			}
		}
		return err
	}
	found := strings.Fields(string(out))
	if len(found) != want {
		return fmt.Errorf("%d of %d entries are found: %v", len(found), want, found)
	}
	for _, line := range found {
		if !strings.HasSuffix(line, ".md:1") {
			return fmt.Errorf("found: %s", line)
		}
	}
	return nil
}
