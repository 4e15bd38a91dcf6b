package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManualPagesSayWhatHelpSays compares the text of each page with that of
// --help, apart from blanks: Markdown, through which cobra makes the pages,
// takes some characters for its own.
func TestManualPagesSayWhatHelpSays(t *testing.T) {
	dir := t.TempDir()
	var stderr strings.Builder
	if code := run([]string{"man", dir}, &strings.Builder{}, &stderr); code != exitOK {
		t.Fatalf("ctxfs man: %s", stderr.String())
	}
	check := func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			return
		}
		got := solid(unroff(string(page)))
		for _, want := range []string{c.Short, c.Long, c.Example} {
			if !strings.Contains(got, solid(want)) {
				t.Errorf("%s does not say\n%s", name, want)
			}
		}
	}
	check(newRoot())
	shown(newRoot(), check)
}

var (
	request = regexp.MustCompile(`(?m)^\.[A-Za-z].*$`)
	// Besides blanks "`", which stands for bold letters.
	blanks = regexp.MustCompile("[\\s`]+")
)

// unroff is a page without what is for roff.
func unroff(page string) string {
	page = request.ReplaceAllString(page, "")
	return strings.NewReplacer(`\\`, `\`, `\-`, `-`, `\&`, ``, `\fB`, ``, `\fR`, ``, `\fP`, ``, `\fI`, ``, `\(aq`, `'`, `\e`, `\`).Replace(page)
}

func solid(text string) string { return blanks.ReplaceAllString(text, "") }
