package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLogIsNamedAfterTheMountpoint(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string
	}{
		{"", map[string]string{"HOME": "/h"}, "/h/.local/state/ctxfs/h-context.log"},
		{"", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/s"}, "/s/ctxfs/h-context.log"},
		{"/my.log", nil, "/my.log"},
	} {
		got, err := logFilePath(c.flag, "/h/context", env(c.env))
		if err != nil || got != c.want {
			t.Errorf("got %q, %v; want %q", got, err, c.want)
		}
	}
	if got, err := logFilePath("", "/h/context", env(nil)); err == nil {
		t.Errorf("without any directory: %q", got)
	}
}

func TestLargeLogIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state/x.log")
	for _, c := range []struct {
		grow  int64
		aside bool
	}{{logLimit, false}, {logLimit + 1, true}} {
		f, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(c.grow); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if f, err = openLog(path); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := os.Stat(path + ".1"); (err == nil) != c.aside {
			t.Errorf("at %d bytes, put aside: %v, want %v", c.grow, err == nil, c.aside)
		}
	}
}
