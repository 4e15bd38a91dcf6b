package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	goalMount  = 200 // milliseconds
	goalMemory = 150 // MB, of 1,000,000 bytes
)

// measureMany times mounting a large store, from the start of `ctxfs mount`
// until it has returned and an entry can be looked up, and takes the daemon's
// resident memory after a full walk, find and rg.
func measureMany(ctx context.Context, w *work, s settings) ([]row, error) {
	store := w.path("many")
	last, err := makeStore(ctx, store, s.many)
	if err != nil {
		return nil, err
	}
	point := w.path("mnt", "many")
	if err := os.MkdirAll(point, 0o755); err != nil {
		return nil, fmt.Errorf("make a mountpoint: %w", err)
	}
	times, sizes, peaks := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for round := range s.rounds {
		progress("mount of %d entries: round %d of %d", s.many, round+1, s.rounds)
		took, err := mountMany(ctx, w, store, point, last)
		if err != nil {
			return nil, err
		}
		size, peak, err := walkMany(ctx, point, s.many)
		if err != nil {
			return nil, err
		}
		if _, err := run(ctx, 2*endLimit, []int{0}, w.program("ctxfs"), "umount", point); err != nil {
			return nil, err
		}
		times["ctxfs"] = append(times["ctxfs"], took.Seconds()*1000)
		sizes["ctxfs"] = append(sizes["ctxfs"], float64(size)/1e6)
		peaks["ctxfs"] = append(peaks["ctxfs"], float64(peak)/1e6)
	}
	what := fmt.Sprintf("%d entries: ", s.many)
	return append([]row{
		limit(what+"mount", "ms", times, "ctxfs", goalMount),
		limit(what+"memory after a walk", "MB", sizes, "ctxfs", goalMemory),
	}, plain(what+"its peak", "MB", peaks, "ctxfs")...), nil
}

func mountMany(ctx context.Context, w *work, store, point, entry string) (time.Duration, error) {
	since := time.Now()
	_, err := run(ctx, shortLimit, []int{0}, w.program("ctxfs"), "mount", "--store", store, "--log", point+".log", point)
	if err != nil {
		return 0, err
	}
	err = within(ctx, shortLimit, "stat an entry", func() error {
		_, err := os.Stat(filepath.Join(point, entry))
		return err
	})
	return time.Since(since), err
}

// walkMany walks the mount and returns the resident memory of its daemon
// then, and its peak, in bytes.
func walkMany(ctx context.Context, point string, entries int) (size, peak int64, err error) {
	out, err := run(ctx, sizeLimit(entries), []int{0}, "find", point, "-type", "f")
	if err != nil {
		return 0, 0, err
	}
	if n := bytes.Count(out, []byte(".md\n")); n != entries {
		return 0, 0, fmt.Errorf("find sees %d of %d entries", n, entries)
	}
	if _, err := grep(ctx, point, entries); err != nil {
		return 0, 0, err
	}
	pid, err := daemonOf(ctx, point)
	if err != nil {
		return 0, 0, err
	}
	if size, err = memory(pid, "VmRSS"); err != nil {
		return 0, 0, err
	}
	peak, err = memory(pid, "VmHWM")
	return size, peak, err
}

// daemonOf asks the mount for the process that serves it.
func daemonOf(ctx context.Context, point string) (int, error) {
	var stats struct {
		PID int `json:"pid"`
	}
	err := within(ctx, shortLimit, "ask for the daemon", func() error {
		text, err := os.ReadFile(filepath.Join(point, ".ctxfs", "stats"))
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &stats)
	})
	if err == nil && stats.PID <= 0 {
		err = fmt.Errorf("%s/.ctxfs/stats names no pid", point)
	}
	return stats.PID, err
}
