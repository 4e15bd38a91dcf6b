package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `Write a manual page for each command into DIR, which is made if it is missing:
ctxfs.1, ctxfs-mount.1 and so on, made from what --help shows. Their date is
that of $SOURCE_DATE_EPOCH, if it is set.`,
		Example: `  ctxfs man ~/.local/share/man/man1
  man ctxfs-mount`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, a []string) error {
			if err := os.MkdirAll(a[0], 0o755); err != nil {
				return fmt.Errorf("make the directory of the manual pages: %w", err)
			}
			root := newRoot() // as its texts are changed
			root.DisableAutoGenTag = true
			forManual(root)
			header := &doc.GenManHeader{Section: "1", Source: "ctxfs", Manual: "ctxfs"}
			if err := doc.GenManTree(root, header, a[0]); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			return nil
		},
	}
}

// forManual makes Markdown of the texts of c and of all below it, which is
// what cobra makes the pages of.
func forManual(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = markdown(c.Long)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = escapeMarkdown.Replace(f.Usage) })
	for _, sub := range c.Commands() {
		forManual(sub)
	}
}

// escapeMarkdown leaves ` as it is, in which pflag puts names of values.
var escapeMarkdown = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `<`, `\<`, `[`, `\[`)

// markdown is text that looks in Markdown as it looks on a terminal: what is
// indented stays as it is, line by line.
func markdown(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !inside:
			b.WriteString("\n")
			inside = true
		case !indented && strings.TrimSpace(line) != "":
			inside = false
		}
		if indented {
			b.WriteString("    " + line)
		} else {
			b.WriteString(escapeMarkdown.Replace(line))
		}
	}
	return b.String()
}
