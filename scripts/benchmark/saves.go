package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

const (
	goalCreate    = 1.6
	goalOverwrite = 2.2
	batch         = 50   // saves of one program before the other one's turn
	saveSize      = 4096 // bytes
	saveAgent     = "benchmark"
)

// saver saves the i-th entry, durably.
type saver func(name string, content []byte) error

// mountSaver saves as programs do: open, write, close.
func mountSaver(dir string) saver {
	return func(name string, content []byte) error {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.Write(content); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	}
}

// nativeSaver saves as a careful program does without ctxfs: temporary file,
// fsync, rename, fsync of the directory, which it keeps open.
func nativeSaver(dir string, d *os.File) saver {
	return func(name string, content []byte) error {
		tmp := filepath.Join(dir, "."+name+".tmp")
		f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = os.Rename(tmp, filepath.Join(dir, name))
		}
		if err != nil {
			return err
		}
		return d.Sync()
	}
}

// measureSaves times saves where -dir is, and for root on an ext4 with a
// journal.
func measureSaves(ctx context.Context, w *work, s settings) ([]row, error) {
	rows, err := measureSavesIn(ctx, w, s, w.path("saves"), "")
	if err != nil || os.Geteuid() != 0 {
		return rows, err
	}
	disk, err := w.journaledDisk(ctx)
	if err != nil {
		return rows, err
	}
	more, err := measureSavesIn(ctx, w, s, disk, ", ext4 with a journal")
	return append(rows, more...), err
}

// measureSavesIn times creating entries one after another, then overwriting
// each of them once: on ctxfs, natively, and by the native program on loopback,
// in alternating batches. All lie in dir, which where describes.
func measureSavesIn(ctx context.Context, w *work, s settings, dir, where string) ([]row, error) {
	store := filepath.Join(dir, "store")
	point := w.path("mnt", "saves-"+filepath.Base(dir))
	srv, err := w.serve(ctx, point, w.program("ctxfs"), "mount", "--foreground", "--store", store, point)
	if err != nil {
		return nil, err
	}
	defer func() { reportStop(srv.stop()) }()
	agent := filepath.Join(point, saveAgent)
	if err := within(ctx, shortLimit, "make an agent", func() error { return os.Mkdir(agent, 0o755) }); err != nil {
		return nil, err
	}
	savers := map[string]saver{"ctxfs": mountSaver(agent)}
	for _, wk := range walkers[:2] { // native and loopback; mergerfs does not sync directories
		save, stop, err := wk.saver(ctx, w, filepath.Join(dir, wk.name))
		if err != nil {
			return nil, err
		}
		defer func() { reportStop(stop()) }()
		savers[wk.name] = save
	}
	save, stop, err := w.floorSaver(ctx, filepath.Join(dir, "floor"), w.path("mnt", "floor-"+filepath.Base(dir)))
	if err != nil {
		return nil, err
	}
	defer func() { reportStop(stop()) }()
	savers["floor"] = save
	backing := filepath.Join(store, saveAgent)
	var rows []row
	for _, p := range []struct {
		what string
		seed uint64
		goal float64
	}{{"create", 1, goalCreate}, {"overwrite", 2, goalOverwrite}} {
		progress("%s %d entries%s", p.what, s.saves, where)
		times, err := alternate(ctx, savers, s.saves, p.seed)
		if err == nil {
			err = saved(backing, s.saves, p.seed, p.what == "overwrite")
		}
		if err != nil {
			return rows, fmt.Errorf("%s: %w", p.what, err)
		}
		what := p.what + " an entry of 4 KB" + where
		rows = append(rows, plain(what, "ms", times, "native", "loopback")...)
		rows = append(rows, beside(what, "ms", times, "floor", "native"),
			ratio(what, "ms", times, "ctxfs", "native", p.goal))
	}
	return rows, nil
}

// saver mounts store and returns the native program's saver on that mount.
func (wk walker) saver(ctx context.Context, w *work, store string) (save saver, stop func() error, err error) {
	if err := os.MkdirAll(filepath.Join(store, saveAgent), 0o755); err != nil {
		return nil, nil, fmt.Errorf("make a directory for saves: %w", err)
	}
	mounted, unmount, err := wk.mount(ctx, w, store)
	if err != nil {
		return nil, nil, err
	}
	agent := filepath.Join(mounted, saveAgent)
	d, err := os.Open(agent)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the directory for saves: %w", err), unmount())
	}
	return nativeSaver(agent, d), func() error { return errors.Join(d.Close(), unmount()) }, nil
}

// floorSaver mounts the floor at point and returns what saves there.
func (w *work) floorSaver(ctx context.Context, store, point string, flags ...string) (save saver, stop func() error, err error) {
	if err := os.MkdirAll(store, 0o755); err != nil {
		return nil, nil, fmt.Errorf("make a directory for saves: %w", err)
	}
	argv := append([]string{w.program("benchmark"), "floor"}, flags...)
	srv, err := w.serve(ctx, point, append(argv, store, point)...)
	if err != nil {
		return nil, nil, err
	}
	agent := filepath.Join(point, saveAgent)
	if err := within(ctx, shortLimit, "make an agent", func() error { return os.Mkdir(agent, 0o755) }); err != nil {
		return nil, nil, errors.Join(err, srv.stop())
	}
	return mountSaver(agent), srv.stop, nil
}

// alternate saves n entries with each saver, in batches by turns, and returns
// the milliseconds a save took, one number a batch.
func alternate(ctx context.Context, savers map[string]saver, n int, seed uint64) (map[string][]float64, error) {
	times := map[string][]float64{}
	for from := 0; from < n; from += batch {
		to := min(from+batch, n)
		for who := range savers {
			var took time.Duration
			err := within(ctx, sizeLimit(batch), "save on "+who, func() (err error) {
				took, err = saveBatch(ctx, savers[who], from, to, seed)
				return err
			})
			if err != nil {
				return nil, err
			}
			times[who] = append(times[who], took.Seconds()*1000/float64(to-from))
		}
	}
	return times, nil
}

func saveBatch(ctx context.Context, save saver, from, to int, seed uint64) (time.Duration, error) {
	var took time.Duration
	for i := from; i < to && ctx.Err() == nil; i++ {
		name, content := saveEntry(i, seed)
		since := time.Now()
		if err := save(name, content); err != nil {
			return 0, err
		}
		took += time.Since(since)
	}
	return took, ctx.Err()
}

// saveEntry is the i-th entry to be saved; another seed is another body.
func saveEntry(i int, seed uint64) (string, []byte) {
	at := firstEntry.Add(time.Duration(i) * time.Second)
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	return entryName(at, i), entry(r, saveAgent, "", at, saveSize)
}

// saved checks in the store itself that each save did what it should: a new
// entry byte for byte, an overwritten one with its changelog.
func saved(backing string, n int, seed uint64, overwritten bool) error {
	for i := range n {
		name, want := saveEntry(i, seed)
		got, err := os.ReadFile(filepath.Join(backing, name))
		if err != nil {
			return err
		}
		log, ok := bytes.CutPrefix(got, want)
		if !ok || overwritten != bytes.Contains(log, []byte("## Changelog\n")) {
			return fmt.Errorf("%s is not what was saved; after the text comes %q", name, log)
		}
	}
	return nil
}
