package roomtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/backing/localdir"
	"ctxfs/room"
)

// Store is an open store in dir that holds these files, by their paths. It is
// closed with the test.
func Store(t *testing.T, files map[string]string) (store *localdir.Store, dir string) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range files {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	store, err := localdir.Open(dir, localdir.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, dir
}

// Problems runs a check and compares what it reports, in any order, with want:
// "path:line: problem: field: reason", or warning, or leftover. It returns the
// problems in the order of want.
func Problems(t *testing.T, check func(report func(room.Problem)) error, want ...string) []room.Problem {
	t.Helper()
	found := map[string]room.Problem{}
	var got []string
	err := check(func(p room.Problem) {
		kind := "problem"
		if p.Warning {
			kind = "warning"
		}
		if p.Leftover {
			kind = "leftover"
		}
		if p.Fix == "" {
			t.Errorf("it is not said how to mend %+v", p)
		}
		line := fmt.Sprintf("%s:%d: %s: %s: %s", p.Path, p.Line, kind, p.Field, p.Reason)
		got = append(got, line)
		found[line] = p
	})
	sorted := slices.Sorted(slices.Values(want))
	if slices.Sort(got); err != nil || !slices.Equal(got, sorted) {
		t.Fatalf("the check says, %v:\n%s\nwant:\n%s", err, strings.Join(got, "\n"), strings.Join(sorted, "\n"))
	}
	all := make([]room.Problem, len(want))
	for i, line := range want {
		all[i] = found[line]
	}
	return all
}

// Mend calls the Mend of each problem that has one, and returns what they did.
func Mend(t *testing.T, all []room.Problem) (did []string) {
	t.Helper()
	for _, p := range all {
		if p.Mend == nil {
			continue
		}
		what, err := p.Mend(context.Background())
		if err != nil || what == "" {
			t.Errorf("mending %s: %q, %v", p.Path, what, err)
		}
		did = append(did, p.Path+": "+what)
	}
	return did
}
