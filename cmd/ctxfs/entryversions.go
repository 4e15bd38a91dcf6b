package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"

	"ctxfs/access"
	"ctxfs/backing"
	"ctxfs/codec"
)

// entryVersion is one version of an entry; the last one is the current.
type entryVersion struct {
	n    int
	time time.Time
	size int64
}

// entryVersions reads the versions of one entry: through the mount where a
// daemon serves the store, else, or beside another process, from its
// directory.
type entryVersions struct {
	path string
	all  []entryVersion // oldest first
	open func(ctx context.Context, n int) ([]byte, error)
	end  func() error
}

// versions opens those of the entry at path.
func (f *reachFlags) versions(ctx context.Context, path string) (*entryVersions, error) {
	store, point, err := findStore(f.store)
	if err != nil {
		return nil, err
	}
	v := &entryVersions{path: path}
	if point != "" {
		err = v.fromMount(ctx, access.NewMount(point, nil))
	} else {
		err = v.fromStore(ctx, store)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no entry %s in the store %s", printable(path), store)
	}
	return v, err
}

func (v *entryVersions) fromMount(ctx context.Context, m *access.Mount) error {
	current, err := m.Stat(ctx, v.path)
	if err != nil {
		return err
	}
	dir := backing.Own + "/versions/" + v.path
	kept, err := m.List(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, k := range kept {
		n, err := strconv.Atoi(k.Name)
		if err != nil {
			return fmt.Errorf("the versions of %s: %w", v.path, err)
		}
		v.all = append(v.all, entryVersion{n, k.ModTime, k.Size})
	}
	v.settle(current.ModTime, current.Size)
	v.open = func(ctx context.Context, n int) ([]byte, error) {
		if n == v.last() {
			return access.ReadAll(ctx, m, v.path)
		}
		return access.ReadAll(ctx, m, dir+"/"+strconv.Itoa(n))
	}
	v.end = m.Close
	return nil
}

func (v *entryVersions) fromStore(ctx context.Context, at access.Location) error {
	store, err := access.OpenReading(ctx, at, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	key := backing.Key(v.path)
	current, err := store.Stat(ctx, key)
	if err == nil && current.Dir {
		err = backing.ErrIsDir
	}
	if err != nil {
		return errors.Join(err, store.Close())
	}
	kept, err := store.Versions(ctx, key)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	for _, k := range kept {
		v.all = append(v.all, entryVersion{k.N, k.ModTime, k.Size})
	}
	v.settle(current.ModTime, current.Size)
	v.open = func(ctx context.Context, n int) ([]byte, error) {
		open := store.OpenVersion
		if n == v.last() {
			open = func(ctx context.Context, key backing.Key, _ int) (backing.Content, error) {
				return store.Open(ctx, key, "")
			}
		}
		c, err := open(ctx, key, n)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
		return text, errors.Join(err, c.Close())
	}
	v.end = store.Close
	return nil
}

// settle puts the versions in order and the current one behind them.
func (v *entryVersions) settle(at time.Time, size int64) {
	slices.SortFunc(v.all, func(a, b entryVersion) int { return a.n - b.n })
	n := 1
	if len(v.all) > 0 {
		n = v.all[len(v.all)-1].n + 1
	}
	v.all = append(v.all, entryVersion{n, at, size})
}

// last is the number of the current version.
func (v *entryVersions) last() int { return v.all[len(v.all)-1].n }

// read returns version n as it was stored.
func (v *entryVersions) read(ctx context.Context, n int) ([]byte, error) {
	if !slices.ContainsFunc(v.all, func(e entryVersion) bool { return e.n == n }) {
		return nil, fmt.Errorf("%s has no version %d; there are %d to %d", printable(v.path), n, v.all[0].n, v.last())
	}
	text, err := v.open(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("read version %d of %s: %w", n, printable(v.path), err)
	}
	return text, nil
}

// number reads the number of a version.
func (v *entryVersions) number(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, usageError{fmt.Errorf("%q is no number of a version", arg)}
	}
	return n, nil
}

var changeLine = regexp.MustCompile(`^\s*[-*+] (\S+) \[([^\]]*)\]: (.*)$`)

// change says who made the version text out of before, and what it was. A
// change without a line of its own in the changelog has neither.
func change(before, text []byte) (agent, summary string) {
	lines := codec.ChangelogLines(text)
	if before == nil && len(lines) == 0 {
		if e, err := codec.Parse(text); err == nil {
			agent = e.Agent
		}
		return agent, "created"
	}
	if len(lines) <= len(codec.ChangelogLines(before)) {
		return "", ""
	}
	if m := changeLine.FindStringSubmatch(lines[len(lines)-1]); m != nil {
		return m[2], m[3]
	}
	return "", lines[len(lines)-1]
}
