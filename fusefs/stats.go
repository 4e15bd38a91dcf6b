package fusefs

import (
	"encoding/json"
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

// Stats is what .ctxfs/stats shows.
func (f *FS) Stats() map[string]any {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	s := map[string]any{
		"version":    f.o.Version,
		"pid":        os.Getpid(),
		"store":      f.o.StoreName,
		"mountpoint": f.o.Mountpoint,
		"started":    f.started.UTC().Format(time.RFC3339),
		"nodes":      f.tree.count(),
		"drafts":     f.stats.drafts.Load(),
		"heapBytes":  mem.HeapAlloc,
		"goroutines": runtime.NumGoroutine(),
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

func (f *FS) statsFile() ([]byte, error) {
	b, err := json.MarshalIndent(f.Stats(), "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
