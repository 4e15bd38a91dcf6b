package fusefs_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/fusefs"
)

// counting is the room of entries, which counts the contents that it opens.
type counting struct {
	*entries.Entries
	reads *atomic.Int64
}

func (r counting) Read(ctx context.Context, path string, rev backing.Revision) (backing.Content, error) {
	r.reads.Add(1)
	return r.Entries.Read(ctx, path, rev)
}

// What the kernel has in its cache costs the store nothing.
func TestAnOpenOfACachedEntryOpensNothingInTheStore(t *testing.T) {
	var reads atomic.Int64
	m := mount(t, func(o *fusefs.Options) { o.Root = counting{o.Root.(*entries.Entries), &reads} })
	m.write("a/"+name1, entry("text\n"))
	// The writer's handle ends after its close, and only then nothing can
	// replace the version any more.
	within(t, "cached", func() error {
		before := reads.Load()
		for range 10 {
			m.read("a/" + name1)
		}
		if now := reads.Load(); now != before {
			return fmt.Errorf("ten reads of a cached entry opened it %d times in the store", now-before)
		}
		return nil
	})
}
