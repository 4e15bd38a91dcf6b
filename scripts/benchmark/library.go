package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"ctxfs/backing/localdir"
	"ctxfs/variables"
)

// Goals of the library, in microseconds and as ratios of times. A ref among a
// million variables may take twice as long as among a thousand: the map does not
// fit the processor's caches any more.
const (
	goalRef      = 1
	goalRefFlat  = 2
	goalInMemory = 50
	goalFileSet  = 1.3
	goalFileGet  = 1.2
)

const benchSession variables.Scope = "session:bench"

const (
	refsEach      = 2_000_000 // refs in a round
	refKeys       = 1000      // that they go round
	memoryEach    = 5000      // sets and gets in memory in a round
	fileEach      = 100       // durable sets and gets in a round
	fewVariables  = 1000
	manyVariables = 1_000_000
)

// measureLibrary times the Go library of variables in this process.
func measureLibrary(ctx context.Context, w *work, s settings) (rows []row, err error) {
	dir := w.path("library")
	store, err := localdir.Open(dir, localdir.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	v, err := variables.New(store, variables.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	l := library{ctx, v, s.rounds}
	for _, measure := range []func() ([]row, error){
		l.memory,
		func() ([]row, error) { return l.files(dir) },
		l.curve,
	} {
		more, err := measure()
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

type library struct {
	ctx    context.Context
	v      *variables.Variables
	rounds int
}

// each returns the microseconds that one of n calls of do takes, a number a
// round; a first round warms up.
func (l library) each(n int, do func(i int) error) ([]float64, error) {
	var times []float64
	for round := range l.rounds + 1 {
		runtime.GC() // of what was made before
		since := time.Now()
		for i := range n {
			if err := do(i); err != nil {
				return nil, err
			}
		}
		if err := l.ctx.Err(); err != nil {
			return nil, err
		}
		if round > 0 {
			times = append(times, float64(time.Since(since).Nanoseconds())/1000/float64(n))
		}
	}
	return times, nil
}

func (l library) set(scope variables.Scope, key string, value []byte) error {
	_, err := l.v.Set(l.ctx, key, value, variables.SetOptions{Scope: scope})
	return err
}

func (l library) ref(key string) error {
	_, err := l.v.Ref(l.ctx, benchSession, key)
	return err
}

func key(i int) string { return fmt.Sprintf("key%07d", i) }

// curve times refs among 10 to a million variables: always of the same keys,
// and at the end of each of the million in turn.
func (l library) curve() ([]row, error) {
	values := map[string][]float64{}
	keys := make([]string, 0, manyVariables)
	var rows []row
	for n := 10; n <= manyVariables; n *= 10 {
		progress("refs among %d variables", n)
		for i := len(keys); i < n; i++ {
			keys = append(keys, key(i))
			if err := l.set(benchSession, keys[i], []byte("value")); err != nil {
				return rows, err
			}
		}
		round := keys[:min(n, refKeys)]
		times, err := l.each(refsEach, func(i int) error { return l.ref(round[i%len(round)]) })
		if err != nil {
			return rows, err
		}
		who := fmt.Sprint(n)
		values[who] = times
		rows = append(rows, limit("ref among so many variables", "µs", values, who, goalRef))
	}
	rows = append(rows, ratio("ref among so many variables", "µs", values, fmt.Sprint(manyVariables), fmt.Sprint(fewVariables), goalRefFlat))
	times, err := l.each(manyVariables, func(i int) error { return l.ref(keys[i]) })
	if err != nil {
		return rows, err
	}
	const who = "each of 1000000"
	values[who] = times
	return append(rows, limit("ref among so many variables", "µs", values, who, goalRef)), nil
}

func (l library) memory() ([]row, error) {
	value := []byte(strings.Repeat("k", 1024))
	values := map[string][]float64{}
	var err error
	values["set"], err = l.each(memoryEach, func(i int) error { return l.set("session:memory", key(i%refKeys), value) })
	if err != nil {
		return nil, err
	}
	values["get"], err = l.each(memoryEach, func(i int) error {
		_, err := l.v.Get(l.ctx, "session:memory", key(i%refKeys))
		return err
	})
	if err != nil {
		return nil, err
	}
	const what = "1 KB in memory"
	return []row{limit(what, "µs", values, "set", goalInMemory), limit(what, "µs", values, "get", goalInMemory)}, nil
}

// files compares durable sets with a careful program, and gets with
// os.ReadFile, in turns.
func (l library) files(dir string) ([]row, error) {
	value := []byte(strings.Repeat("k", 1024))
	native := dir + "-native"
	if err := os.Mkdir(native, 0o755); err != nil {
		return nil, err
	}
	d, err := os.Open(native)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	save := nativeSaver(native, d)
	one := library{l.ctx, l.v, 1}
	sets, gets := map[string][]float64{}, map[string][]float64{}
	for range l.rounds {
		for _, m := range []struct {
			values map[string][]float64
			who    string
			n      int
			do     func(i int) error
		}{
			{sets, "native", fileEach, func(i int) error { return save(key(i), value) }},
			{sets, "ctxfs", fileEach, func(i int) error { return l.set(variables.Global, key(i), value) }},
			{gets, "native", memoryEach, func(i int) error { _, err := os.ReadFile(native + "/" + key(i%fileEach)); return err }},
			{gets, "ctxfs", memoryEach, func(i int) error { _, err := l.v.Get(l.ctx, variables.Global, key(i%fileEach)); return err }},
		} {
			times, err := one.each(m.n, m.do)
			if err != nil {
				return nil, err
			}
			m.values[m.who] = append(m.values[m.who], times...)
		}
	}
	rows := plain("durable set of 1 KB", "µs", sets, "native")
	rows = append(rows, ratio("durable set of 1 KB", "µs", sets, "ctxfs", "native", goalFileSet))
	rows = append(rows, plain("get of a 1 KB file", "µs", gets, "native")...)
	return append(rows, ratio("get of a 1 KB file", "µs", gets, "ctxfs", "native", goalFileGet)), nil
}
