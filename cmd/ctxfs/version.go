package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Say which ctxfs this is",
		Long: `Say the version, the commit that it was built from, the Go release, and the
platform. That of a daemon, which may be older, is in ` + "`ctxfs status`" + `.`,
		Example: "  ctxfs version\n  ctxfs version --json",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "ctxfs version "+b.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one object")
	return cmd
}

// build is what `version --json` prints.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // "" where it was not built from a clone
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild reads what the Go linker has left in the program.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok || commit != "" {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the build in a line, as --version shows it.
func (b build) String() string {
	from := "of no known commit"
	if b.Commit != "" {
		from = "commit " + b.Commit[:min(12, len(b.Commit))]
	}
	if b.Modified {
		from += " with changes"
	}
	return fmt.Sprintf("%s (%s, %s, %s)", b.Version, from, b.Go, b.Platform)
}
