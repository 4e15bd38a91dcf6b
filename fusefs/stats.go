package fusefs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// stats counts since the mount began.
type stats struct {
	lookups, opens, reads, writes atomic.Int64
	commits, refusals, faults     atomic.Int64
	drafts                        atomic.Int64 // open now
	notices                       atomic.Int64 // sent to the kernel
}

// Requests counts what programs have asked for since the mount began, as far as
// it costs the daemon time: names, opens, contents.
func (f *FS) Requests() int64 {
	return f.stats.lookups.Load() + f.stats.opens.Load() + f.stats.reads.Load() + f.stats.writes.Load()
}

// Stats is what .ctxfs/stats shows.
func (f *FS) Stats() map[string]any {
	s := map[string]any{
		"version":     f.o.Version,
		"pid":         os.Getpid(),
		"store":       f.o.StoreName,
		"mountpoint":  f.o.Mountpoint,
		"started":     f.started.UTC().Format(time.RFC3339),
		"nodes":       f.tree.count(),
		"drafts":      f.stats.drafts.Load(),
		"memoryBytes": f.resident(),
		"goroutines":  runtime.NumGoroutine(),
		"requests": map[string]int64{
			"lookup": f.stats.lookups.Load(),
			"open":   f.stats.opens.Load(),
			"read":   f.stats.reads.Load(),
			"write":  f.stats.writes.Load(),
		},
		"commits":  f.stats.commits.Load(),
		"refusals": f.stats.refusals.Load(),
		"faults":   f.stats.faults.Load(),
		// Of the newest that .ctxfs/errors shows.
		"refusalsLastHour": f.o.Journal.Since(time.Now().Add(-time.Hour)),
		"notices":          f.stats.notices.Load(),
	}
	if f.o.Status != nil {
		maps.Copy(s, f.o.Status())
	}
	return s
}

// resident is the memory that the process takes, in bytes.
func (f *FS) resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		f.log.Error("look at the daemon's memory", "err", err)
		return 0
	}
	var total, pages int64
	if _, err := fmt.Sscan(string(text), &total, &pages); err != nil {
		f.log.Error("look at the daemon's memory", "statm", string(text), "err", err)
	}
	return pages * int64(os.Getpagesize())
}

func (f *FS) statsFile() ([]byte, error) {
	b, err := json.MarshalIndent(f.Stats(), "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
