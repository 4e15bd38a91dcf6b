package fusefs_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/fusefs"
)

// A store that has missed something says that everything may have changed:
// then names are looked for again that were absent too.
func TestWhatWasAbsentIsThereAfterAResync(t *testing.T) {
	g := &gate{watching: make(chan struct{})}
	var store backing.Store
	m := mount(t, func(o *fusefs.Options) {
		g.Entries, store = o.Root.(*entries.Entries), o.Store
		o.Root = g // of whose store the mount hears nothing
	})
	<-g.watching
	if _, err := os.Lstat(m.path("a", name1)); !os.IsNotExist(err) {
		t.Fatalf("it is there: %v", err)
	}
	_, err := store.Put(context.Background(), backing.Key("a/"+name1), strings.NewReader(entry("new\n")), backing.PutOptions{})
	m.must(err)
	g.announce("", true)
	m.must(until(func() bool {
		_, err := os.Lstat(m.path("a", name1))
		return err == nil
	}))
}
