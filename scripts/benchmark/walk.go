package main

import (
	"context"
	"fmt"
	"time"
)

// Goals, as ratios of ctxfs to the one that is named.
const (
	goalWarmLoopback  = 0.42
	goalWarmMergerfs  = 1.0
	goalFirstLoopback = 1.0
)

// walker is one of those that show the same store. argv mounts it in the
// foreground; the native directory has none.
type walker struct {
	name string
	argv func(w *work, store, point string) []string
}

var walkers = []walker{
	{"native", nil},
	{"loopback", func(w *work, store, point string) []string {
		return []string{w.program("loopback"), "-q", point, store}
	}},
	{"mergerfs", func(_ *work, store, point string) []string {
		return []string{"mergerfs", "-f", "-o",
			"cache.files=auto-full,cache.entry=3600,cache.attr=3600,cache.readdir=true", store, point}
	}},
	{"floor", func(w *work, store, point string) []string {
		return []string{w.program("benchmark"), "floor", store, point}
	}},
	{"ctxfs", func(w *work, store, point string) []string {
		return []string{w.program("ctxfs"), "mount", "--foreground", "--store", store, point}
	}},
}

// mount returns the directory to walk, and what ends the mount.
func (wk walker) mount(ctx context.Context, w *work, store string) (dir string, stop func() error, err error) {
	if wk.argv == nil {
		return store, func() error { return nil }, nil
	}
	point := w.path("mnt", wk.name)
	s, err := w.serve(ctx, point, wk.argv(w, store, point)...)
	if err != nil {
		return "", nil, err
	}
	return point, s.stop, nil
}

// grep times rg looking through dir for a string that is not there.
func grep(ctx context.Context, dir string, entries int) (time.Duration, error) {
	since := time.Now()
	_, err := run(ctx, sizeLimit(entries), []int{1}, "rg", "-c", absent, dir)
	return time.Since(since), err
}

// seen checks that dir shows all entries.
func seen(ctx context.Context, name, dir string, entries int) error {
	return within(ctx, sizeLimit(entries), "count the entries on "+name, func() error {
		n, err := countEntries(dir)
		if err == nil && n != entries {
			err = fmt.Errorf("%d of %d", n, entries)
		}
		return err
	})
}

// walkStore makes the store that both walks share, unless it is there.
func (w *work) walkStore(ctx context.Context, entries int) (string, error) {
	store := w.path("walk")
	if n, err := countEntries(store); err == nil && n == entries {
		return store, nil
	}
	_, err := makeStore(ctx, store, entries)
	return store, err
}

// measureWarm times rg on mounts that have been walked before.
func measureWarm(ctx context.Context, w *work, s settings) ([]row, error) {
	store, err := w.walkStore(ctx, s.entries)
	if err != nil {
		return nil, err
	}
	times := map[string][]float64{}
	dirs := map[string]string{}
	for _, wk := range walkers {
		dir, stop, err := wk.mount(ctx, w, store)
		if err != nil {
			return nil, err
		}
		defer func() { reportStop(stop()) }()
		dirs[wk.name] = dir
		if err := seen(ctx, wk.name, dir, s.entries); err != nil {
			return nil, err
		}
		if wk.name == "ctxfs" { // it is made once, and not what is measured, beside whomever
			if err := indexed(ctx, dir, s.entries); err != nil {
				return nil, err
			}
		}
		if _, err := grep(ctx, dir, s.entries); err != nil {
			return nil, err
		}
	}
	for round := range s.rounds {
		progress("warm rg: round %d of %d", round+1, s.rounds)
		for _, wk := range walkers {
			took, err := grep(ctx, dirs[wk.name], s.entries)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", wk.name, err)
			}
			times[wk.name] = append(times[wk.name], took.Seconds())
		}
	}
	what := fmt.Sprintf("warm rg over %d entries", s.entries)
	return append(plain(what, "s", times, "native", "loopback", "mergerfs"),
		beside(what, "s", times, "floor", "loopback"),
		ratio(what, "s", times, "ctxfs", "loopback", goalWarmLoopback),
		ratio(what, "s", times, "ctxfs", "mergerfs", goalWarmMergerfs)), nil
}

// measureFirst times the first rg after mounting; the mounting itself is not
// in it.
func measureFirst(ctx context.Context, w *work, s settings) ([]row, error) {
	store, err := w.walkStore(ctx, s.entries)
	if err != nil {
		return nil, err
	}
	if _, err := grep(ctx, store, s.entries); err != nil { // warms the page cache below
		return nil, err
	}
	times := map[string][]float64{}
	for round := range s.rounds {
		progress("first walk: round %d of %d", round+1, s.rounds)
		for _, wk := range walkers {
			took, err := wk.firstWalk(ctx, w, store, s.entries, round == 0)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", wk.name, err)
			}
			times[wk.name] = append(times[wk.name], took.Seconds())
		}
	}
	what := fmt.Sprintf("first rg over %d entries", s.entries)
	return append(plain(what, "s", times, "native", "loopback", "mergerfs"),
		beside(what, "s", times, "floor", "loopback"),
		ratio(what, "s", times, "ctxfs", "loopback", goalFirstLoopback)), nil
}

func (wk walker) firstWalk(ctx context.Context, w *work, store string, entries int, check bool) (time.Duration, error) {
	dir, stop, err := wk.mount(ctx, w, store)
	if err != nil {
		return 0, err
	}
	defer func() { reportStop(stop()) }()
	took, err := grep(ctx, dir, entries)
	if err == nil && check {
		err = seen(ctx, wk.name, dir, entries)
	}
	return took, err
}

// reportStop says what went wrong with an unmount; the numbers are good
// nevertheless, and work.remove tries again.
func reportStop(err error) {
	if err != nil {
		progress("bench: %v", err)
	}
}
