package localdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

// layoutVersion is the newest layout of the directory that this code knows.
const layoutVersion = 1

// LockedError says that another process writes the store.
type LockedError struct {
	Dir     string    // of the store
	PID     int       // 0 where the holder has not said yet
	Since   time.Time // when it took the lock
	Program string    // its executable's name
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("store %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("store %s is in use by %s (pid %d) since %s",
		e.Dir, e.Program, e.PID, e.Since.Local().Format("2006-01-02 15:04:05 MST"))
}

// holder is the lock file's content.
type holder struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Program string    `json:"program"`
}

// takeLock flocks the lock file: the kernel gives the lock back however this
// process ends. The file itself is never removed, since another process may
// just have opened it.
func (s *Store) takeLock(dir string) error {
	fd, err := s.tree.open(lockFile, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	s.lockFD = fd
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return lockedBy(fd, dir)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return sayHolder(fd)
}

func sayHolder(fd int) error {
	text, err := json.Marshal(holder{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Program: filepath.Base(os.Args[0])})
	if err != nil {
		return err
	}
	if err := ftruncate(fd, 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if _, err := pwriteFull(fd, append(text, '\n'), 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return nil
}

func lockedBy(fd int, dir string) error {
	buf := make([]byte, 4096)
	// What cannot be read is left out: that the store is locked is the news.
	n, _ := preadFull(fd, buf, 0)
	var h holder
	if json.Unmarshal(buf[:n], &h) != nil {
		h = holder{}
	}
	return &LockedError{Dir: dir, PID: h.PID, Since: h.Since, Program: h.Program}
}

// readLayout returns the layout's version, 0 where none is written, and
// refuses a newer one than this code knows.
func (s *Store) readLayout() (int, error) {
	fd, _, err := s.tree.file(layoutFile, unix.O_RDONLY)
	if err == unix.ENOENT {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", layoutFile, named(err))
	}
	defer unix.Close(fd)
	buf := make([]byte, 64)
	n, err := unix.Pread(fd, buf, 0)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", layoutFile, err)
	}
	text := strings.TrimSpace(string(buf[:n]))
	if text == "" { // a crash while it was first written
		return 0, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s says %q, which is no layout version", layoutFile, text)
	}
	if v > layoutVersion {
		return 0, fmt.Errorf("layout version %d was made by a newer ctxfs; this one knows up to %d: use the newer one", v, layoutVersion)
	}
	return v, nil
}

func (s *Store) settleLayout() error {
	v, err := s.readLayout()
	if err != nil || v == layoutVersion {
		return err
	}
	fd, err := s.tree.open(layoutFile, unix.O_WRONLY|unix.O_CREAT|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", layoutFile, err)
	}
	defer unix.Close(fd)
	if _, err := pwriteFull(fd, []byte(strconv.Itoa(layoutVersion)+"\n"), 0); err != nil {
		return fmt.Errorf("write %s: %w", layoutFile, err)
	}
	return errors.Join(s.fsync(fd), s.syncDir(backing.Own))
}
