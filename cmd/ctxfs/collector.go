package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collectAfter is how much is allocated between two garbage collections, in
// bytes. A daemon is idle or in a hurry, with a heap of a few megabytes:
// collected at each doubling of that, as Go does by itself, it would be
// collected many times a second. With the names of a large store in it, each
// doubling would be too late.
const collectAfter = 16 << 20

// paceCollector keeps the collector at collectAfter for as long as the program
// runs: after each collection it sets the percentage for the next one, by what
// was found alive.
func paceCollector() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	last := 0
	var pace func(*cycle)
	pace = func(*cycle) {
		metrics.Read(live)
		percent := int(math.Ceil(100 * collectAfter / float64(max(live[0].Value.Uint64(), 1<<20))))
		if percent != last {
			last = percent
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(&cycle{}, pace)
	}
	pace(nil)
}

// cycle is garbage at once; its finalizer runs after the next collection.
type cycle struct{ _ [16]byte }
