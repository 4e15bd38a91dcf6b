package index

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ctxfs/backing"
	"ctxfs/codec"
)

// readText reads the first most bytes of the entry at p.
func readText(ctx context.Context, src Content, p string, rev backing.Revision, most int64) (text []byte, whole bool, err error) {
	c, err := src.Read(ctx, p, rev)
	if err != nil {
		return nil, false, err
	}
	defer c.Close()
	text = make([]byte, min(c.Size(), most))
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Size()), text); err != nil {
		return nil, false, err
	}
	return text, c.Size() <= most, nil
}

// hitOf describes the entry of f, which holds text.
func hitOf(f found, text []byte, lines []Line) Hit {
	entry, err := codec.Parse(text)
	if err != nil {
		entry = codec.Entry{} // found all the same
	}
	parts := strings.Split(f.path, "/")
	h := Hit{Path: f.path, Agent: parts[0], Session: entry.Session, Type: entry.Type, Tags: entry.Tags,
		Title: title(text[entry.Body:]), Time: time.Unix(f.time, 0).UTC(), Superseded: f.superseded, Lines: lines}
	if h.Session == "" && len(parts) == 3 {
		h.Session = parts[1]
	}
	return h
}

// inParallel looks at entries on all processors and returns, in their order,
// the hits of those for which look says so.
func inParallel(ctx context.Context, rows []found, look func(context.Context, found) (Hit, bool, error)) ([]Hit, error) {
	hits, kept := make([]Hit, len(rows)), make([]bool, len(rows))
	var next atomic.Int64
	var work sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(rows)))
	for w := range errs {
		work.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1) - 1)
				if i >= len(rows) {
					return
				}
				hits[i], kept[i], errs[w] = look(ctx, rows[i])
			}
		})
	}
	work.Wait()
	var all []Hit
	for i, h := range hits {
		if kept[i] {
			all = append(all, h)
		}
	}
	return all, errors.Join(errs...)
}
