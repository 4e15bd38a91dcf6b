package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	diskBytes = 4 << 30 // sparse: it takes what is written
	diskLimit = time.Minute
)

// journaledDisk makes and mounts an ext4 with a journal in a file of the
// working directory, since -dir may lie on a file system without one, where a
// durable save costs other things. Only root can.
func (w *work) journaledDisk(ctx context.Context) (dir string, err error) {
	image, dir := w.path("disk.img"), w.path("disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return "", fmt.Errorf("make a disk: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a disk: %w", err)
	}
	for _, argv := range [][]string{
		{"truncate", "--size", strconv.Itoa(diskBytes), image},
		{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image},
		{"mount", "-o", "loop", image, dir},
	} {
		if _, err := run(ctx, diskLimit, []int{0}, argv...); err != nil {
			return "", fmt.Errorf("make a disk: %w", err)
		}
	}
	return dir, nil
}
