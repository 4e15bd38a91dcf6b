package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStatusLooksAsItShall compares what `ctxfs status` prints for the mounts
// in testdata/status/*.json, as `ctxfs status --json` prints them, with the
// .golden file beside each. To change one: look at what the test says, and
// write that.
func TestStatusLooksAsItShall(t *testing.T) {
	now := time.Date(2026, 2, 21, 15, 10, 0, 0, time.UTC)
	files, err := filepath.Glob("testdata/status/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("there are %d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []mountStatus
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var got strings.Builder
		if err := printStatuses(&got, list, now); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".golden")
		if err != nil || got.String() != string(want) {
			t.Errorf("%s is printed as\n%s\nand not as (%v)\n%s", file, got.String(), err, want)
		}
	}
}
