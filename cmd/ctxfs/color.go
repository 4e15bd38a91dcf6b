package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// The colours of the output, as of ECMA-48.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	match = "\x1b[1;31m"
	plain = "\x1b[0m"
)

func addColor(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "color", "auto", "colours: `WHEN` is auto (on a terminal, unless $NO_COLOR is set), always or never")
}

// colors reports whether to print colours on w.
func colors(when string, w io.Writer, getenv func(string) string) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		f, ok := w.(*os.File)
		return ok && isTerminal(f) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	}
	return false, usageError{fmt.Errorf("--color is auto, always or never, not %q", when)}
}

// paint is s in a color.
func paint(colored bool, color, s string) string {
	if !colored || color == "" || s == "" {
		return s
	}
	return color + s + plain
}

// discardIf is w, or what takes everything and prints nothing.
func discardIf(discard bool, w io.Writer) io.Writer {
	if discard {
		return io.Discard
	}
	return w
}

// addStore adds --store alone, for commands that act for nobody.
func (f *reachFlags) addStore(flags *pflag.FlagSet) {
	flags.StringVar(&f.store, "store", "", "the store's `DIR`, or a mountpoint of it (default: as for mount)")
}
