package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"ctxfs/backing/localdir"
	"ctxfs/entries"
	"ctxfs/index"
)

const (
	goalWord  = 20      // milliseconds
	goalRegex = 1.0 / 5 // of the time of rg
)

// needle stands in a few entries only, common in nearly all.
const (
	needle  = "needle_alpha42"
	regex   = `needle_[a-z]+\d+`
	common  = "invoices"
	needles = 20
)

// measureSearch compares `ctxfs search --regex`, from the start of the command
// to its end, with rg on the native directory. Queries for words are timed in
// the library, where they have a goal, and as commands: beside a mount, and
// without one, where the store is opened and compared with the index first. The
// start of the program alone stands beside them.
func measureSearch(ctx context.Context, w *work, s settings) ([]row, error) {
	store := w.path("search")
	if _, err := makeStore(ctx, store, s.many); err != nil {
		return nil, err
	}
	if err := addNeedles(store); err != nil {
		return nil, err
	}
	progress("building the index")
	built, words, err := measureWords(ctx, store, s.rounds)
	if err != nil {
		return nil, err
	}
	point := w.path("mnt", "search")
	if _, err := run(ctx, shortLimit, []int{0}, w.program("ctxfs"), "mount", "--store", store, "--log", point+".log", point); err != nil {
		return nil, err
	}
	search := func(more ...string) []string {
		return append([]string{w.program("ctxfs"), "search", "--store", store}, more...)
	}
	mounted, err := timed(ctx, "search", s, map[string][]string{
		"ctxfs":                search("--limit", "0", "--regex", regex),
		"rg native":            {"rg", "-n", regex, store},
		"rare, beside mount":   search(needle),
		"common, beside mount": search(common),
		"start of the program": {w.program("ctxfs"), "--version"},
	})
	if err != nil {
		return nil, err
	}
	if _, err := run(ctx, 2*endLimit, []int{0}, w.program("ctxfs"), "umount", point); err != nil {
		return nil, err
	}
	alone, err := timed(ctx, "search without a mount", s, map[string][]string{"common, no mount": search(common)})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d entries: ", s.many)
	rows := append(plain(what+"build the index", "s", map[string][]float64{"ctxfs": {built.Seconds()}}, "ctxfs"),
		limit(what+"a rare word", "ms", words, "rare", goalWord), limit(what+"a word of all entries", "ms", words, "common", goalWord))
	rows = append(rows, plain(what+"a word, as a command", "s", mounted, "start of the program", "rare, beside mount", "common, beside mount")...)
	rows = append(rows, plain(what+"a word, as a command", "s", alone, "common, no mount")...)
	rows = append(rows, plain(what+"expression", "s", mounted, "rg native")...)
	return append(rows, ratio(what+"expression", "s", mounted, "ctxfs", "rg native", goalRegex)), nil
}

// timed runs commands that find something, all of them in each round, and
// returns how long they took, in seconds.
func timed(ctx context.Context, what string, s settings, commands map[string][]string) (map[string][]float64, error) {
	times := map[string][]float64{}
	for round := range s.rounds {
		progress("%s: round %d of %d", what, round+1, s.rounds)
		for who, argv := range commands {
			since := time.Now()
			out, err := run(ctx, sizeLimit(s.many), []int{0}, argv...)
			if err != nil {
				return nil, err
			}
			if len(out) == 0 {
				return nil, fmt.Errorf("%s finds nothing", who)
			}
			times[who] = append(times[who], time.Since(since).Seconds())
		}
	}
	return times, nil
}

func addNeedles(store string) error {
	for i := range needles {
		path := filepath.Join(store, "agent-000", entryName(firstEntry.Add(-time.Duration(i+1)*time.Second), i))
		text := fmt.Sprintf("---\nagent: agent-000\ntimestamp: 2026-02-21T14:00:00Z\ntype: finding\ntags: []\n---\n\nThe %s is here.\n", needle)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("add an entry to find: %w", err)
		}
	}
	return nil
}

// measureWords builds the index of store and times queries for words.
func measureWords(ctx context.Context, dir string, rounds int) (built time.Duration, times map[string][]float64, err error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		return 0, nil, err
	}
	defer store.Close()
	room, err := entries.New(store, entries.Options{Log: log})
	if err != nil {
		return 0, nil, err
	}
	defer room.Close()
	since := time.Now()
	x := index.Open(filepath.Join(dir, ".ctxfs", "index.sqlite"), room, index.Options{Log: log})
	defer x.Close()
	for s := x.Status(ctx); s.Building; s = x.Status(ctx) {
		if ctx.Err() != nil || s.Error != "" {
			return 0, nil, fmt.Errorf("build the index: %s %w", s.Error, ctx.Err())
		}
		time.Sleep(100 * time.Millisecond) // a look at it takes its time from the building
	}
	built = time.Since(since)
	times = map[string][]float64{}
	for range rounds + 1 {
		for who, words := range map[string]string{"rare": needle, "common": common} {
			since := time.Now()
			hits, err := x.Search(ctx, index.Query{Words: words})
			if err != nil || len(hits) != index.DefaultLimit {
				return 0, nil, fmt.Errorf("search %s: %d entries, %w", words, len(hits), err)
			}
			times[who] = append(times[who], time.Since(since).Seconds()*1000)
		}
	}
	for who := range times {
		times[who] = times[who][1:] // the first one warms the caches
	}
	return built, times, nil
}
