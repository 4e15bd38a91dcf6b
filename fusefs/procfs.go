package fusefs

import (
	"bytes"

	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// glance is how long a look at other processes may take. It takes
// microseconds on an idle machine, but if that process is in execve and waits
// for us, the answer comes only after ours.
const glance = time.Second

// within runs look, but waits no longer than a glance for it; late is what
// it returns then.
func within[T any](late T, look func() T) T { return begin(late, look)() }

// begin begins to look. The function that it returns waits for what was seen,
// but no longer than a glance; late is what it returns then. The goroutine ends
// when the kernel lets it.
func begin[T any](late T, look func() T) func() T {
	done := make(chan T, 1)
	go func() { done <- look() }()
	return sync.OnceValue(func() T {
		t := time.NewTimer(glance)
		defer t.Stop()
		select {
		case v := <-done:
			return v
		case <-t.C:
			return late
		}
	})
}

// readProc reads a file below /proc that fits buf. It bypasses package os,
// whose poller costs four system calls more.
func readProc(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for n < len(buf) {
		got, err := unix.Read(fd, buf[n:])
		if err != nil {
			return nil, err
		}
		if got == 0 {
			break
		}
		n += got
	}
	return buf[:n], nil
}

func procPath(pid uint32, rest string) string {
	return "/proc/" + strconv.FormatUint(uint64(pid), 10) + rest
}

// names lists a directory below /proc: nothing where the process has ended or
// is another user's.
func names(dir string) (all []string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if n <= 0 || err != nil {
			return all
		}
		_, _, all = unix.ParseDirent(buf[:n], -1, all)
	}
}

// children lists the processes that pid's threads started and that are still
// its own.
func children(pid uint32) []uint32 {
	dir := procPath(pid, "/task")
	threads := []string{strconv.FormatUint(uint64(pid), 10)}
	var st unix.Stat_t
	if unix.Stat(dir, &st) == nil && st.Nlink > 3 { // two, and one a thread
		threads = names(dir)
	}
	var all []uint32
	buf := make([]byte, 4096)
	for _, t := range threads {
		b, err := readProc(dir+"/"+t+"/children", buf)
		if err != nil {
			continue // it has ended
		}
		for _, field := range strings.Fields(string(b)) {
			if n, err := strconv.ParseUint(field, 10, 32); err == nil {
				all = append(all, uint32(n))
			}
		}
	}
	return all
}

// tick is the unit of times in /proc/PID/stat, on all machines that Go knows.
const tick = time.Second / 100

// sinceBoot is the time on the clock of /proc/PID/stat.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0 // nobody began before that
	}
	return time.Duration(t.Nano())
}

// beganBefore reports whether the process began before t, or has ended. Who
// began in the same tick did not.
func beganBefore(pid uint32, t time.Duration) bool {
	stat, err := readProc(procPath(pid, "/stat"), make([]byte, 1024))
	if err != nil {
		return true
	}
	_, fields := statFields(stat)
	if len(fields) <= statStart {
		return false
	}
	ticks, err := strconv.ParseInt(fields[statStart], 10, 64)
	return err == nil && ticks < int64(t/tick)
}

// Places in what follows the name in /proc/PID/stat: there the state is the
// first field, which proc(5) counts as the third.
const (
	statStart       = 22 - 3 // in ticks since boot
	statEnvironment = 50 - 3 // where the environment begins, which an exec moves
)

// statFields takes /proc/PID/stat apart. The name stands in parentheses and may
// hold any byte, also parentheses.
func statFields(stat []byte) (comm string, fields []string) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", nil
	}
	return string(stat[open+1 : end]), strings.Fields(string(stat[end+1:]))
}

// processes lists every process that can be seen.
func processes() []uint32 {
	var all []uint32
	for _, name := range names("/proc") {
		if n, err := strconv.ParseUint(name, 10, 32); err == nil {
			all = append(all, uint32(n))
		}
	}
	return all
}

// holdsForWriting reports whether a descriptor of pid is open for writing on
// the file with this name and st_ino. /proc/PID/fd says the name, which is
// cheap and tells most apart; fdinfo the rest. With lasting, one that an exec
// would close does not count.
func holdsForWriting(pid uint32, name string, ino uint64, lasting bool) bool {
	dir := procPath(pid, "/fd")
	link := make([]byte, unix.PathMax)
	info := make([]byte, 512)
	for _, fd := range names(dir) {
		n, err := unix.Readlink(dir+"/"+fd, link)
		if err != nil || !leadsTo(link[:n], name) {
			continue
		}
		b, err := readProc(procPath(pid, "/fdinfo/"+fd), info)
		if err == nil && describes(b, ino, lasting) {
			return true
		}
	}
	return false
}

// leadsTo reports whether the path ends in name. The kernel marks names that
// it was told to forget.
func leadsTo(link []byte, name string) bool {
	link = bytes.TrimSuffix(link, []byte(" (deleted)"))
	rest, ok := bytes.CutSuffix(link, []byte(name))
	return ok && (len(rest) == 0 || rest[len(rest)-1] == '/')
}

// describes reports whether fdinfo is of a descriptor that can write to ino.
func describes(fdinfo []byte, ino uint64, lasting bool) bool {
	var same, write bool
	for line := range bytes.Lines(fdinfo) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		v := string(bytes.TrimSpace(value))
		switch string(key) {
		case "flags":
			flags, err := strconv.ParseUint(v, 8, 64)
			write = err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY && !(lasting && flags&unix.O_CLOEXEC != 0)
		case "ino":
			n, err := strconv.ParseUint(v, 10, 64)
			same = err == nil && n == ino
		}
	}
	return same && write
}
