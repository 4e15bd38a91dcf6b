package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// fuseMagic is f_type of a FUSE mount in statfs(2).
const fuseMagic = 0x65735546

// isFUSE reports whether a FUSE mount serves at point: the daemon itself must
// answer statfs.
func isFUSE(point string) (bool, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(point, &st); err != nil {
		return false, fmt.Errorf("statfs %s: %w", point, err)
	}
	return int64(st.Type) == fuseMagic, nil
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountsBelow lists the mountpoints below dir, the newest first. It asks none
// of them.
func mountsBelow(dir string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); strings.HasPrefix(point, dir+"/") {
			points = append([]string{point}, points...)
		}
	}
	return points, nil
}

// detach takes the mount at point out of the tree; its daemon ends as soon as
// nobody uses it.
func detach(point string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
		return nil
	}
	_, err := run(context.Background(), shortLimit, []int{0}, "fusermount3", "-u", "-z", "--", point)
	return err
}

// processesNaming lists the processes that have dir, or something below it, in
// their command line.
func processesNaming(dir string) []int {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(dir)) {
			continue // ended, or of somebody else
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// memory reads a line of /proc/PID/status, such as VmRSS, in bytes.
func memory(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of the daemon: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("memory of the daemon: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("memory of the daemon %d: there is no %s", pid, name)
}
