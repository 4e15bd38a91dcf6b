package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shown calls do for every command that help shows, whose group must be
// said, except cobra's own `help`.
func shown(c *cobra.Command, do func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			do(sub)
			shown(sub, do)
		}
	}
}

// TestEveryCommandExplainsItself asks of each command, new ones too: a group
// in `ctxfs help` (see root.go), one short line, a text, examples, and a
// sentence for each flag.
func TestEveryCommandExplainsItself(t *testing.T) {
	root := newRoot()
	shown(root, func(c *cobra.Command) {
		complain := func(what string) { t.Errorf("%s %s", c.CommandPath(), what) }
		if c.Parent() == root && !root.ContainsGroup(c.GroupID) {
			complain("is in no group of `ctxfs help`; put it into one in root.go")
		}
		if n := len(c.Short); n == 0 || n > 66 || strings.ContainsAny(c.Short, "\n.") {
			complain("needs a Short of one line, at most 66 bytes, without a full stop")
		}
		if len(c.Long) < len(c.Short) || c.Long == c.Short {
			complain("needs a Long that says more than its Short")
		}
		if !strings.HasPrefix(c.Example, "  ") {
			complain("needs an Example, each line indented by two spaces")
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > 100 {
				complain("has a line of more than 100 characters: " + line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				complain("does not say what --" + f.Name + " does")
			}
		})
	})
}

// TestExamplesAreCommandLines parses each example as a shell would, and each
// call of ctxfs in it as ctxfs would: command, flags and arguments.
func TestExamplesAreCommandLines(t *testing.T) {
	tried := 0
	check := func(c *cobra.Command) {
		for _, call := range calls(t, c) {
			tried++
			if err := understood(call); err != nil {
				t.Errorf("%s: the example `ctxfs %s`: %v", c.CommandPath(), strings.Join(call, " "), err)
			}
		}
	}
	check(newRoot())
	shown(newRoot(), check)
	if tried < 40 {
		t.Errorf("only %d examples were found", tried)
	}
}

// understood parses a command line and runs nothing.
func understood(call []string) error {
	root := newRoot() // flags keep what they were given
	c, rest, err := root.Find(call)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// calls are the arguments of each call of ctxfs in the examples of c, which
// must name c itself.
func calls(t *testing.T, c *cobra.Command) [][]string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(c.Example), c.Name())
	if err != nil {
		t.Errorf("%s: its example is no shell command: %v", c.CommandPath(), err)
		return nil
	}
	var all [][]string
	own := false
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "ctxfs" {
			return true
		}
		words, err := expand.Fields(nil, call.Args[1:]...)
		if err != nil {
			t.Errorf("%s: its example: %v", c.CommandPath(), err)
			return true
		}
		own = own || strings.HasPrefix(strings.Join(words, " "), strings.TrimPrefix(c.CommandPath(), "ctxfs "))
		all = append(all, words)
		return true
	})
	if !own && c.HasParent() {
		t.Errorf("%s: no example calls it", c.CommandPath())
	}
	return all
}

// TestWhatWasMeantIsNamed gives names that are nearly right.
func TestWhatWasMeantIsNamed(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"moutn", "there is no command \"moutn\"; did you mean `ctxfs mount`?"},
		{"find x", "did you mean `ctxfs search`?"},
		{"stop", "did you mean `ctxfs umount`?"},
		{"var delete k", "did you mean `ctxfs var rm`?"},
		{"mount --stor /x", "there is no flag --stor; did you mean --store?"},
		{"mount --allow_other", "did you mean --allow-other?"},
		{"moutn --agent x", "did you mean `ctxfs mount`?"},
		{"./context", "to mount the store there: `ctxfs mount ./context`"},
		{"log", "usage: ctxfs log [flags] ENTRY"},
		{"zzzzzz", "there is no command \"zzzzzz\"\n"},
		{"status --zzzzzz", "unknown flag: --zzzzzz\n"},
	} {
		var stdout, stderr strings.Builder
		if code := run(strings.Fields(c.line), &stdout, &stderr); code != exitUsage {
			t.Errorf("ctxfs %s: exit code %d", c.line, code)
		}
		if !strings.Contains(stderr.String(), c.want) {
			t.Errorf("ctxfs %s says\n%swhich lacks %q", c.line, stderr.String(), c.want)
		}
	}
}
