package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// fstype is the type of our mounts in /proc/self/mountinfo.
const fstype = "fuse.ctxfs"

// mount is one line of /proc/self/mountinfo.
type mount struct {
	Point  string // where, absolute
	Type   string // as fuse.ctxfs
	Source string // of a ctxfs mount: the store's directory
	Conn   int    // the connection's number below /sys/fs/fuse/connections
	Dev    string // the file system that is mounted, as 0:98
	Root   string // the directory of it that stands at Point; not "/" of a bind mount
}

// mounts lists what is mounted, in the order in which it was mounted.
func mounts() ([]mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	defer f.Close()
	return parseMountinfo(f)
}

// parseMountinfo reads the format of proc_pid_mountinfo(5):
//
//	36 35 0:98 / /home/u/context rw,nosuid shared:1 - fuse.ctxfs /home/u/store rw,user_id=0
func parseMountinfo(r io.Reader) ([]mount, error) {
	var all []mount
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20) // overlay mounts have long option lists
	for sc.Scan() {
		left, right, ok := strings.Cut(sc.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 2 {
			return nil, fmt.Errorf("mountinfo: cannot read the line %q", sc.Text())
		}
		_, minor, _ := strings.Cut(l[2], ":")
		n, err := strconv.Atoi(minor)
		if err != nil {
			return nil, fmt.Errorf("mountinfo: device %q of %q", l[2], sc.Text())
		}
		all = append(all, mount{Point: unescape(l[4]), Type: r[0], Source: unescape(r[1]), Conn: n, Dev: l[2], Root: unescape(l[3])})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read mountinfo: %w", err)
	}
	return all, nil
}

// unescape undoes the kernel's \ooo for space, tab, newline and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountAt returns what is mounted at path itself, the topmost if several are.
func mountAt(all []mount, path string) (mount, bool) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Point == path {
			return all[i], true
		}
	}
	return mount{}, false
}

// ctxfsAbove returns the ctxfs mount that path lies in or is.
func ctxfsAbove(all []mount, path string) (mount, bool) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Type == fstype && inside(path, all[i].Point) {
			return all[i], true
		}
	}
	return mount{}, false
}

// insideAnywhere is inside, also where a bind mount leads to dir or to path by
// another name: what counts is where both lie in their file system.
func insideAnywhere(all []mount, path, dir string) bool {
	if inside(path, dir) {
		return true
	}
	pathDev, pathAt := within(all, path)
	dirDev, dirAt := within(all, dir)
	return pathDev != "" && pathDev == dirDev && inside(pathAt, dirAt)
}

// within returns the file system that path lies in, and its path there.
func within(all []mount, path string) (dev, at string) {
	var m mount
	for _, each := range all {
		if inside(path, each.Point) && len(each.Point) >= len(m.Point) {
			m = each
		}
	}
	if m.Dev == "" {
		return "", ""
	}
	return m.Dev, filepath.Join(m.Root, strings.TrimPrefix(path, m.Point))
}

// inside reports whether path is dir or lies below it; both are clean.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
