package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ctxfs/memories"
	"ctxfs/operations"
)

func newMemoryAdd(f *reachFlags) *cobra.Command {
	var e memoryAdd
	cmd := &cobra.Command{
		Use:   "add [flags] MEMORY [TEXT|-]",
		Short: "Add an entry to a memory",
		Long: `Add TEXT, or standard input, as an entry of a memory. It carries the context that
was put before it, and is on disk when the command ends. Adding an --id twice adds
two lines; a backend that was given to the mount takes the second for the first.`,
		Example: `  ctxfs memory add m1 'Deployed v2' --summary deploy --tag env=prod
  jq -c . events.json | ctxfs memory add m1 --jsonl`,
		Args: memoryAnd(1),
		RunE: func(cmd *cobra.Command, a []string) error { return e.run(cmd, f, a) },
	}
	cmd.Flags().StringVar(&e.summary, "summary", "", "a short `TEXT` of it")
	cmd.Flags().StringToStringVar(&e.tags, "tag", nil, "a tag, `NAME=VALUE`; may be repeated")
	cmd.Flags().StringVar(&e.id, "id", "", "its idempotency key (default: a new UUID)")
	cmd.Flags().BoolVar(&e.jsonl, "jsonl", false, "the input is entries already: one JSON object a line")
	cmd.Flags().BoolVar(&e.json, "json", false, "print JSON: memory and id")
	return cmd
}

type memoryAdd struct {
	summary, id string
	tags        map[string]string
	jsonl, json bool
}

func (e *memoryAdd) run(cmd *cobra.Command, f *reachFlags, a []string) error {
	if e.jsonl && (e.summary != "" || e.id != "" || e.tags != nil || e.json) {
		return usageError{errors.New("with --jsonl the entries say summary, tags and id themselves")}
	}
	text, err := e.text(cmd, a[1:])
	if err != nil {
		return err
	}
	lines := text
	if !e.jsonl {
		if lines, err = e.line(text); err != nil {
			return err
		}
	} else if len(lines) > 0 && lines[len(lines)-1] != '\n' {
		lines = append(lines, '\n')
	}
	return f.reach(cmd, func(ctx context.Context, r *reached) error {
		if err := r.Append(ctx, operations.EntriesPath(a[0]), lines); err != nil || !e.json {
			return err
		}
		return printJSON(cmd.OutOrStdout(), map[string]string{"memory": a[0], "id": e.id})
	})
}

// text is the argument, or standard input.
func (e *memoryAdd) text(cmd *cobra.Command, args []string) ([]byte, error) {
	if len(args) == 1 && args[0] != "-" {
		return []byte(args[0]), nil
	}
	text, err := readAll(cmd.InOrStdin(), 64*memories.MaxEntry)
	if err != nil {
		return nil, fmt.Errorf("read the entry: %w", err)
	}
	return text, nil
}

// line is the entry that text becomes, in the fields of reference/3's backend.
func (e *memoryAdd) line(text []byte) ([]byte, error) {
	entry := operations.MemoryEntry{ID: e.id, RawEntry: strings.TrimSuffix(string(text), "\n"), Summary: e.summary}
	for name, value := range e.tags {
		if entry.Tags == nil {
			entry.Tags = map[string]any{}
		}
		entry.Tags[name] = value
	}
	line, err := entry.Line()
	e.id = entry.ID
	return line, err
}
