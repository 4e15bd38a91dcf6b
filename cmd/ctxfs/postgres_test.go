package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ctxfs/backing/postgres/pgtest"
)

// TestScriptsOnADatabase runs the scripts in testdata/postgres, and some of
// those in testdata, with a database of its own for each.
func TestScriptsOnADatabase(t *testing.T) {
	needFuse(t)
	t.Cleanup(func() {
		if err := pgtest.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := scripts
	more, err := filepath.Glob("testdata/postgres/*.txt")
	if err != nil || len(more) == 0 {
		t.Fatalf("there are no scripts in testdata/postgres; %v", err)
	}
	p.Files = append(more, "testdata/node.txt", "testdata/vim-no.txt")
	if files := os.Getenv("PGFILES"); files != "" {
		p.Files = strings.Fields(files)
	}
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		url := pgtest.Schema(t)
		env.Values[guardKey{}].(*guard).store = url
		env.Setenv("STORE", url)
		setSize(env, "8", "6")
		return nil
	}
	testscript.Run(t, p)
}

// fullSize reports whether the scripts shall take minutes: scripts/torture asks
// for 16 writers that save 50 times.
func fullSize() bool { return os.Getenv("CTXFS_TEST_WRITERS") != "" }

// setSize tells a script how many writers save how often, at least.
func setSize(env *testscript.Env, writers, rounds string) {
	for name, least := range map[string]string{"WRITERS": writers, "ROUNDS": rounds} {
		env.Setenv(name, cmp.Or(os.Getenv("CTXFS_TEST_"+name), least))
	}
}

// TestScriptsOnAFailingDatabase runs the scripts in testdata/postgres/faults,
// which harm a server of their own.
func TestScriptsOnAFailingDatabase(t *testing.T) {
	needFuse(t)
	p := scripts
	p.Files = faultScripts(t)
	if files := os.Getenv("PGFILES"); files != "" {
		p.Files = strings.Fields(files)
	}
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		d := &databases{t: t}
		env.Values[databasesKey{}] = d
		env.Defer(d.end)
		env.Setenv("FAULTS", filepath.Join(env.Getenv("TESTDATA"), "postgres/faults"))
		setSize(env, "3", "3")
		return nil
	}
	testscript.Run(t, p)
}
