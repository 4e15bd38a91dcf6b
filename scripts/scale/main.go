// Scale measures a store in a PostgreSQL database that scripts/fill has filled:
// through the store, through a mount, and its search beside what PostgreSQL
// itself has for that.
//
//	go build -o /tmp/ctxfs ./cmd/ctxfs
//	go run ./scripts/scale [-ctxfs /tmp/ctxfs] [-state DIR] [-only store,mount,search] [-rounds 11] postgres://…/big
//
// It prints one line a figure; of what is repeated the median and the longest.
// It adds nothing to the store but, for the search, a schema ctxfs_trial, which
// it removes again. See docs/scale.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// settings are what the command line says.
type settings struct {
	url, program, state string
	rounds              int
}

func main() {
	s := settings{}
	only := flag.String("only", "store,mount,search", "what to measure")
	flag.StringVar(&s.program, "ctxfs", "ctxfs", "the command")
	flag.StringVar(&s.state, "state", "", "directory for what the mounts keep on this host, to use their index again; empty is a temporary one")
	flag.IntVar(&s.rounds, "rounds", 11, "how often what is short is repeated")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: scale [flags] postgres://…")
		os.Exit(2)
	}
	s.url = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	parts := map[string]func(context.Context, settings) error{"store": ofStore, "mount": ofMount, "search": ofSearch}
	for part := range strings.SplitSeq(*only, ",") {
		measure, known := parts[part]
		if !known {
			fmt.Fprintln(os.Stderr, "scale: nothing is called", part)
			os.Exit(2)
		}
		if err := measure(ctx, s); err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			os.Exit(1)
		}
	}
}

// say prints one figure.
func say(what, format string, args ...any) {
	fmt.Printf("%-60s %s\n", what, fmt.Sprintf(format, args...))
}

// times runs f s.rounds times, and prints the median and the longest.
func (s settings) times(what string, f func() error) error {
	var all []time.Duration
	for range s.rounds {
		took, err := clock(f)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		all = append(all, took)
	}
	slices.Sort(all)
	say(what, "%.1f ms, at most %.1f", ms(all[len(all)/2]), ms(all[len(all)-1]))
	return nil
}

// once runs f and prints how long it took.
func once(what string, f func() error) error {
	took, err := clock(f)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	say(what, "%.2f s", took.Seconds())
	return nil
}

func clock(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func mb(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
