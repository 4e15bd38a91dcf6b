package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers says which packages of this module each one may import. Rooms don't
// know each other, nor the mount, nor the command line.
var layers = map[string][]string{
	"codec":             {},
	"backing":           {"codec"},
	"backing/localdir":  {"backing", "codec"},
	"backing/storetest": {"backing", "codec"},
	"room":              {"backing", "codec"},
	"entries":           {"room", "backing", "codec"},
	"fusefs":            {"room", "backing", "codec"},
	"cmd/ctxfs":         {"fusefs", "entries", "room", "backing", "backing/localdir", "codec"},
}

// testOnly are packages that tests may import besides.
var testOnly = []string{"backing/localdir", "backing/storetest", "entries"}

// pure are imports that codec must not have: it knows no files, processes,
// network, and no kernel but for its errno.
var pure = []string{"os", "os/exec", "net", "io/fs", "path/filepath", "log/slog", "context"}

func TestImportsGoOneWay(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		seen[rel] = true
		checkImports(t, rel, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("there is no package %s any more", name)
		}
	}
}

func checkImports(t *testing.T, pkg, path string) {
	t.Helper()
	allowed, known := layers[pkg]
	if !known && !strings.HasPrefix(pkg, "scripts") {
		t.Errorf("%s: the layer of package %s is not written down", path, pkg)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	test := strings.HasSuffix(path, "_test.go")
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
			continue
		}
		if pkg == "codec" && !test && slices.Contains(pure, name) {
			t.Errorf("%s imports %s; codec is bytes to values and back", path, name)
		}
		own, ours := strings.CutPrefix(name, "ctxfs/")
		if !ours || !known || own == pkg || slices.Contains(allowed, own) || test && slices.Contains(testOnly, own) {
			continue
		}
		t.Errorf("%s imports %s; %s may import %v", path, own, pkg, allowed)
	}
}
