package joined

import (
	"log/slog"
	"strings"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/backing/storetest"
)

// newStore joins two empty directories, which the test closes.
func newStore(t testing.TB, side func(backing.Key) Side) *Store {
	t.Helper()
	open := func() *localdir.Store {
		s, err := localdir.Open(t.TempDir(), localdir.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return New(open(), open(), side)
}

func always(side Side) func(backing.Key) Side {
	return func(backing.Key) Side { return side }
}

func TestLocalFilesAreFiles(t *testing.T) {
	storetest.RunFiles(t, func(t testing.TB) backing.Store { return newStore(t, always(LocalFile)) })
}

// mixed is as the rooms have it: what ends in .md is everybody's, tmp and what
// is in it this host's.
func mixed(k backing.Key) Side {
	switch {
	case k.Under("tmp"):
		return Local
	case strings.HasSuffix(string(k), ".md") || k == "":
		return Shared
	}
	return LocalFile
}

func TestBothSidesKeepAllPromises(t *testing.T) {
	storetest.Run(t, func(t testing.TB) backing.Store { return newStore(t, mixed) })
}
