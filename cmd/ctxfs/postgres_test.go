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
		for name, least := range map[string]string{"WRITERS": "8", "ROUNDS": "6"} {
			env.Setenv(name, cmp.Or(os.Getenv("CTXFS_TEST_"+name), least))
		}
		return nil
	}
	testscript.Run(t, p)
}
