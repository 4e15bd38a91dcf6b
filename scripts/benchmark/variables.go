package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Goals of variables, as ratios of times: at least 0.9 of native throughput
// when reading (as root; 0.6 otherwise), 0.6 when writing.
const (
	goalLargeRead     = 1 / 0.9
	goalLargeReadUser = 1 / 0.6
	goalLargeWrite    = 1 / 0.6
	goalListLoopback  = 1.5
	listed            = 10_000
	largeBytes        = 1 << 30
	largeStep         = 1 << 20
	scope             = "vars/global"
)

// measureVariables times a variable of 1 GB, and ls -l of many small ones.
func measureVariables(ctx context.Context, w *work, s settings) ([]row, error) {
	store := w.path("variables")
	if err := os.MkdirAll(filepath.Join(store, scope), 0o755); err != nil {
		return nil, fmt.Errorf("make the store of variables: %w", err)
	}
	for i := range listed {
		name := filepath.Join(store, scope, fmt.Sprintf("key%05d", i))
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			return nil, fmt.Errorf("make variables: %w", err)
		}
	}
	dirs := map[string]string{}
	for _, wk := range walkers {
		if wk.name == "mergerfs" {
			continue
		}
		dir, stop, err := wk.mount(ctx, w, store)
		if err != nil {
			return nil, err
		}
		defer func() { reportStop(stop()) }()
		dirs[wk.name] = filepath.Join(dir, scope)
	}
	lists, err := measureLists(ctx, dirs, s.rounds)
	if err != nil {
		return nil, err
	}
	large, err := measureLarge(ctx, dirs, s.rounds)
	return append(lists, large...), err
}

func measureLists(ctx context.Context, dirs map[string]string, rounds int) ([]row, error) {
	times := map[string][]float64{}
	for round := range rounds + 1 {
		progress("ls -l of variables: round %d of %d", round, rounds)
		for name, dir := range dirs {
			since := time.Now()
			out, err := run(ctx, sizeLimit(listed), []int{0}, "ls", "-l", dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(out) < listed*len("key00000") {
				return nil, fmt.Errorf("%s: ls -l printed %d bytes only", name, len(out))
			}
			if round > 0 { // the first one warms
				times[name] = append(times[name], time.Since(since).Seconds())
			}
		}
	}
	what := fmt.Sprintf("ls -l of %d variables", listed)
	return append(plain(what, "s", times, "native", "loopback"),
		ratio(what, "s", times, "ctxfs", "loopback", goalListLoopback)), nil
}

// measureLarge writes and reads 1 GB, natively and through the mount, in turn.
func measureLarge(ctx context.Context, dirs map[string]string, rounds int) ([]row, error) {
	written, read := map[string][]float64{}, map[string][]float64{}
	for round := range rounds {
		progress("1 GB: round %d of %d", round+1, rounds)
		for _, name := range []string{"native", "ctxfs"} {
			path := filepath.Join(dirs[name], "large-"+name)
			limit := sizeLimit(0)
			var took [2]time.Duration
			err := within(ctx, limit, "1 GB on "+name, func() (err error) {
				took[0], took[1], err = writeAndRead(path)
				return err
			})
			if err != nil {
				return nil, err
			}
			written[name] = append(written[name], took[0].Seconds())
			read[name] = append(read[name], took[1].Seconds())
		}
	}
	goal := goalLargeRead
	if os.Geteuid() != 0 {
		goal = goalLargeReadUser
	}
	rows := append(plain("write 1 GB durably", "s", written, "native"),
		ratio("write 1 GB durably", "s", written, "ctxfs", "native", goalLargeWrite))
	rows = append(rows, plain("read 1 GB, warm", "s", read, "native")...)
	return append(rows, ratio("read 1 GB, warm", "s", read, "ctxfs", "native", goal)), nil
}

func writeAndRead(path string) (write, read time.Duration, err error) {
	since := time.Now()
	f, err := os.Create(path)
	if err != nil {
		return 0, 0, err
	}
	buf := make([]byte, largeStep)
	for range largeBytes / largeStep {
		if _, err := f.Write(buf); err != nil {
			return 0, 0, errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return 0, 0, err
	}
	write = time.Since(since)
	for range 2 { // the first one warms
		if read, err = readAll(path, buf); err != nil {
			return 0, 0, err
		}
	}
	return write, read, os.Remove(path)
}

func readAll(path string, buf []byte) (time.Duration, error) {
	since := time.Now()
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	total := 0
	for {
		n, err := f.Read(buf)
		total += n
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if total != largeBytes {
		return 0, fmt.Errorf("read %d bytes of %d", total, largeBytes)
	}
	return time.Since(since), nil
}
