package fusefs_test

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"ctxfs/backing"
	"ctxfs/fusefs"
)

// listing counts how often all versions of an entry are looked at.
type listing struct {
	backing.Store
	count atomic.Int64
}

func (s *listing) Versions(ctx context.Context, key backing.Key) ([]backing.Version, error) {
	s.count.Add(1)
	return s.Store.Versions(ctx, key)
}

// Who reads them all would else look at each as often as there are versions.
func TestOneVersionIsLookedAtWithoutTheOthers(t *testing.T) {
	var s *listing
	m := mount(t, func(o *fusefs.Options) {
		s = &listing{Store: o.Store}
		o.Store = s
	})
	const versions = 5
	for n := range versions + 1 {
		m.write("a/"+name1, entry("text "+strconv.Itoa(n)+"\n"))
	}
	dir := m.path(".ctxfs/versions/a", name1)
	s.count.Store(0)
	for n := range versions {
		_, err := os.Stat(dir + "/" + strconv.Itoa(n+1))
		m.must(err)
	}
	if n := s.count.Load(); n > 0 {
		t.Errorf("to look at %d versions, all were looked at %d times", versions, n)
	}
}
