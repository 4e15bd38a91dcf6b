package memories

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkPut is the acknowledgement of put_context: below 1 ms.
func BenchmarkPut(b *testing.B) {
	s := newBench(b, Options{Queue: ExecutorOptions{EnqueueTimeout: time.Minute}})
	text := strings.Repeat("A line of a context document.\n", 140)
	var took []time.Duration
	i := 0
	for b.Loop() {
		// An agent does not put as fast as it can: a burst, then the rest.
		if i%100 == 0 {
			b.StopTimer()
			s.await("m1")
			b.StartTimer()
		}
		i++
		began := time.Now()
		if err := s.PutContext(ctx, "m1", text); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/p99")
}

// BenchmarkAddEntry is an entry on its way to the disk, without a backend.
func BenchmarkAddEntry(b *testing.B) {
	s := newBench(b, Options{})
	entry := []byte(`{"text":"What was found."}`)
	for b.Loop() {
		if _, err := s.AddEntry(ctx, "m1", entry); err != nil {
			b.Fatal(err)
		}
	}
}
