// Command benchmark measures ctxfs side by side with what else there is: the
// file system below, go-fuse's own example/loopback, mergerfs, a native program
// that saves durably, and the floor, a FUSE file system that does next to nothing.
// scripts/bench builds what it needs and runs it.
//
// # What the numbers mean
//
// Everything that is compared runs in turn within each round (A B C D, A B C
// D, …), so that a busy machine or a slow disk burdens all alike. A ratio is
// the median over the rounds of the ratio within one round. The page cache of
// the files below is warm throughout.
//
// Saves are measured first: ext4 avoids inodes that were deleted within the
// last minutes, so that creating is slower after a mass deletion.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// settings is the command line.
type settings struct {
	rounds   int
	entries  int
	many     int
	saves    int
	dir      string
	programs string
	only     string
	json     bool
}

// measures are the names that -only knows, in the order in which they run.
var measures = []struct {
	name string
	run  func(context.Context, *work, settings) ([]row, error)
}{
	{"saves", measureSaves},
	{"vars", measureVariables},
	{"library", measureLibrary},
	{"warm", measureWarm},
	{"first", measureFirst},
	{"many", measureMany},
	{"search", measureSearch},
	{"followed", measureFollowed},
	{"postgres", measurePostgres},
}

func names() string {
	var all []string
	for _, m := range measures {
		all = append(all, m.name)
	}
	return strings.Join(all, ",")
}

func parseFlags() settings {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 5, "how many times each walk and each mount is measured")
	flag.IntVar(&s.entries, "entries", 20_000, "entries of the store that is walked (5.7 KB each)")
	flag.IntVar(&s.many, "many", 100_000, "entries of the store that is mounted (5.7 KB each)")
	flag.IntVar(&s.saves, "saves", 1000, "entries that are created, then overwritten (4 KB each)")
	flag.StringVar(&s.dir, "dir", "/var/tmp", "where the stores lie; what is made there is removed at the end")
	flag.StringVar(&s.programs, "programs", "", "directory that holds ctxfs and loopback (scripts/bench sets it)")
	flag.StringVar(&s.only, "only", names(), "what is measured")
	flag.BoolVar(&s.json, "json", false, "print JSON instead of a table")
	flag.Parse()
	if err := s.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		flag.Usage()
		os.Exit(2)
	}
	return s
}

func (s settings) check(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("what is %q?", args[0])
	}
	if s.programs == "" {
		return errors.New("-programs is missing; run scripts/bench")
	}
	if min(s.rounds, s.entries, s.many, s.saves) < 1 {
		return errors.New("-rounds, -entries, -many and -saves must be at least 1")
	}
	for name := range strings.SplitSeq(s.only, ",") {
		if !slices.Contains(strings.Split(names(), ","), name) {
			return fmt.Errorf("-only %s: there are %s", name, names())
		}
	}
	return nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "floor" {
		if err := runFloor(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "floor:", err)
			os.Exit(1)
		}
		return
	}
	s := parseFlags()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	load, err := loadBefore()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	rows, err := measure(ctx, s)
	if len(rows) > 0 {
		err = errors.Join(err, print(os.Stdout, s, load, rows))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// loadBefore returns the load average of the last minute, and warns where it
// says that other work is going on. Building, just before, shows in it too.
func loadBefore() (string, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", fmt.Errorf("ask for the load: %w", err)
	}
	one, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(one, 64)
	if err != nil {
		return "", fmt.Errorf("ask for the load: %w", err)
	}
	if load > float64(runtime.NumCPU()) {
		progress("the load is %s on %d CPUs: the numbers will be those of a busy machine", one, runtime.NumCPU())
	}
	return one, nil
}

// measure runs what s.only names, and leaves nothing behind.
func measure(ctx context.Context, s settings) (rows []row, err error) {
	w, err := newWork(s.dir, s.programs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.remove()) }()
	for _, m := range measures {
		if !slices.Contains(strings.Split(s.only, ","), m.name) {
			continue
		}
		more, err := m.run(ctx, w, s)
		rows = append(rows, more...)
		if ctx.Err() != nil {
			return rows, errors.New("interrupted")
		}
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return rows, nil
}

// progress says on standard error what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
