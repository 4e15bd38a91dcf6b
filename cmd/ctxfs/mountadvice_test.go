package main

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestFailedMountSaysWhatIsMissing(t *testing.T) {
	failed := errors.New("fusermount: whatever")
	fails := func(err error) func() error { return func() error { return err } }
	found := func(string) (string, error) { return "/bin/fusermount3", nil }
	missing := func(string) (string, error) { return "", fs.ErrNotExist }
	for _, c := range []struct {
		uid  int
		open func() error
		look func(string) (string, error)
		want string
	}{
		{0, fails(fs.ErrNotExist), found, "--device /dev/fuse"},
		{1000, fails(fs.ErrPermission), found, "readable and writable"},
		{0, fails(nil), missing, "SYS_ADMIN"},
		{1000, fails(nil), missing, "package fuse3"},
		{1000, fails(nil), found, "fusermount: whatever"},
	} {
		err := mountAdvice(failed, c.uid, c.open, c.look)
		if !errors.Is(err, failed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("for user %d: %v, which lacks %q", c.uid, err, c.want)
		}
	}
}
