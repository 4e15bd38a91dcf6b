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

// A room knows no other room, nor the mount, nor the command line.
var ofRooms = []string{"room", "backing", "codec"}

// layers says which packages of this module each one may import.
var layers = map[string][]string{
	"codec":                   {},
	"backing":                 {"codec"},
	"backing/localdir":        {"backing", "backing/fanout", "codec"},
	"backing/joined":          {"backing"},
	"backing/fanout":          {"backing"},
	"backing/cache":           {"backing"},
	"backing/postgres":        {"backing", "backing/cache", "backing/fanout", "codec"},
	"backing/storetest":       {"backing", "codec"},
	"backing/postgres/pgtest": {},
	"room":                    {"backing", "codec"},
	"room/roomtest":           {"backing/localdir", "room"},
	"entries":                 ofRooms,
	"variables":               ofRooms,
	"results":                 ofRooms,
	"memories":                ofRooms,
	"invocations":             ofRooms,
	"fusefs":                  ofRooms,
	"index":                   append([]string{"entries"}, ofRooms...),
	"views":                   append([]string{"index"}, ofRooms...),
	"archive":                 ofRooms,
	"housekeeping":            append([]string{"archive", "entries", "results"}, ofRooms...),
	"transfer":                {"backing"},
	"access":                  append([]string{"transfer", "backing/localdir", "backing/joined", "backing/postgres", "housekeeping"}, append(rooms, ofRooms...)...),
	"operations":              append([]string{"access"}, append(rooms, ofRooms...)...),
	"mcpserver":               append([]string{"access", "index", "operations"}, append(rooms, ofRooms...)...),
	"torture":                 append([]string{"access", "fusefs", "torture/trace", "torture/disk", "torture/apart", "torture/tried", "backing/localdir", "archive", "housekeeping"}, append(rooms, ofRooms...)...),
	"torture/trace":           {},
	"torture/disk":            {},
	"torture/apart":           {},
	"torture/tried":           {},
	"torture/live":            {"torture/apart", "torture/tried"},
	"cmd/ctxfs":               append([]string{"transfer", "fusefs", "index", "views", "access", "operations", "housekeeping", "mcpserver", "backing/localdir"}, append(rooms, ofRooms...)...),
}

var rooms = []string{"entries", "variables", "results", "memories", "invocations"}

// testOnly are packages that tests may import besides.
var testOnly = []string{"backing/localdir", "backing/postgres", "backing/postgres/pgtest", "backing/storetest", "room/roomtest", "entries"}

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
		allowed, known := layers[rel]
		switch {
		case known:
			checkImports(t, rel, path, allowed)
		case !seen[rel] && !strings.HasPrefix(rel, "scripts"):
			t.Errorf("the layer of package %s is not written down", rel)
		}
		seen[rel] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"codec", "backing", "room", "entries", "fusefs", "cmd/ctxfs"} {
		if !seen[name] {
			t.Errorf("package %s was not looked at", name)
		}
	}
}

func checkImports(t *testing.T, pkg, path string, allowed []string) {
	t.Helper()
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
		if !ours || own == pkg || slices.Contains(allowed, own) || test && slices.Contains(testOnly, own) {
			continue
		}
		t.Errorf("%s imports %s; %s may import %v", path, own, pkg, allowed)
	}
}
