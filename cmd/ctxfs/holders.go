package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holdersShown is how many processes umount names.
const holdersShown = 5

// holders names the processes that have files open below point or work there,
// as " (vim 4711, bash 12)"; "" where it can see none. Nothing in /proc asks
// the mount's daemon for this.
func holders(point string) string {
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		panic(err) // of the pattern, which is a constant
	}
	cwds, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		panic(err)
	}
	var names []string
	seen := map[string]bool{}
	for _, link := range append(links, cwds...) {
		// Processes end and belong to others: what cannot be read is not shown.
		target, err := os.Readlink(link)
		pid := strings.Split(link, "/")[2]
		if err != nil || !inside(target, point) || seen[pid] {
			continue
		}
		seen[pid] = true
		comm, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			continue
		}
		names = append(names, strings.TrimSpace(string(comm))+" "+pid)
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - holdersShown; more > 0 {
		names = append(names[:holdersShown], fmt.Sprintf("%d more", more))
	}
	return " (" + strings.Join(names, ", ") + ")"
}
