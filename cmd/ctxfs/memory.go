package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"ctxfs/access"
	"ctxfs/codec"
	"ctxfs/memories"
	"ctxfs/operations"
)

func newMemory() *cobra.Command {
	f := &reachFlags{}
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Put and get context documents of memories, and add entries",
		Long: `A memory has a context document, which is replaced as a whole, and entries, which
are added; each entry carries the context of its moment.

Where a mount serves the store the documents are files there too,
memories/MEMORY/context.md and entries.jsonl.`,
		Example: `  ctxfs memory put m1 context.md
  ctxfs memory add m1 'The user prefers metric units'
  ctxfs memory await m1`,
		Args: args(noSuchCommand),
		RunE: needSubcommand,
	}
	f.add(cmd.PersistentFlags())
	cmd.AddCommand(newMemoryLs(f))
	for _, sub := range []*cobra.Command{newMemoryPut(f), newMemoryGet(f), newMemoryAdd(f), newMemoryAwait(f)} {
		sub.ValidArgsFunction = f.completeMemories
		cmd.AddCommand(sub)
	}
	return cmd
}

// memoryAnd is a check of a first argument that names a memory, and
// at most more others.
func memoryAnd(more int) cobra.PositionalArgs {
	return args(func(cmd *cobra.Command, a []string) error {
		if err := cobra.RangeArgs(1, 1+more)(cmd, a); err != nil {
			return err
		}
		return memories.CheckMemory(a[0])
	})
}

func newMemoryPut(f *reachFlags) *cobra.Command {
	var await bool
	cmd := &cobra.Command{
		Use:   "put [flags] MEMORY [FILE|-]",
		Short: "Replace the context document of a memory",
		Long: `Make FILE, or standard input, the context document of a memory. With a mount it is
acknowledged as soon as it is queued, and on disk after ` + "`ctxfs memory await`" + `;
without one it is on disk when the command ends.`,
		Example: `  echo 'The user is in Oslo.' | ctxfs memory put m1
  ctxfs memory put --await m1 notes.md`,
		Args: memoryAnd(1),
		RunE: func(cmd *cobra.Command, a []string) error {
			in, err := input(cmd, a[1:])
			if err != nil {
				return err
			}
			defer in.Close()
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				if err := r.Write(ctx, operations.ContextPath(a[0]), in, nil); err != nil || !await {
					return err
				}
				return r.Sync(ctx, operations.ContextPath(a[0]))
			})
		},
	}
	cmd.Flags().BoolVar(&await, "await", false, "return when it is on disk")
	return cmd
}

func newMemoryGet(f *reachFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get [flags] MEMORY",
		Short: "Write the context document of a memory to standard output",
		Long: `Write the newest acknowledged context document of a memory to standard output,
queued or on disk. With --json it is the snapshot, context.json.`,
		Example: `  ctxfs memory get m1`,
		Args:    memoryAnd(0),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				var err error
				if asJSON {
					var text []byte
					text, err = access.ReadAll(ctx, r, operations.MemoriesDir+"/"+a[0]+"/context.json")
					err = errors.Join(err, printLine(cmd, codec.HarmlessJSON(string(text))))
				} else {
					err = copyOut(ctx, cmd, r, operations.ContextPath(a[0]))
				}
				if errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("the memory %s has no context document", a[0])
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, `print JSON: {"activeContext": ...}`)
	return cmd
}

func newMemoryAwait(f *reachFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "await MEMORY",
		Short:   "Wait until everything put to a memory is on disk",
		Long:    `Return when everything that was put to a memory before is on disk.`,
		Example: `  ctxfs memory put m1 notes.md && ctxfs memory await m1`,
		Args:    memoryAnd(0),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				return r.Await(ctx, a[0])
			})
		},
	}
}

func newMemoryLs(f *reachFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "ls [flags]",
		SuggestFor: []string{"list"},
		Short:      "List the memories",
		Long:       `List the memories with the sizes of context and entries, without reading them.`,
		Example:    `  ctxfs memory ls --json`,
		Args:       args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				all, err := r.List(ctx, operations.MemoriesDir)
				if err != nil {
					return err
				}
				var t *table
				for _, i := range all {
					m, err := r.memory(ctx, i.Name, i.ModTime)
					switch {
					case err != nil:
						return err
					case asJSON:
						err = printJSON(cmd.OutOrStdout(), m)
					default:
						if t == nil {
							t = newTable(cmd.OutOrStdout(), "MEMORY", "CONTEXT", "ENTRIES", "MODIFIED")
						}
						t.row(m.Memory, size(m.SizeBytes), size(m.EntryBytes), stamp(m.Modified))
						err = t.err
					}
					if err != nil {
						return err
					}
				}
				if t == nil {
					return nil
				}
				return t.flush()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one memory a line")
	return cmd
}

// memory describes a memory whose directory was changed at modified.
func (r *reached) memory(ctx context.Context, name string, modified time.Time) (memories.Meta, error) {
	m := memories.Meta{Memory: name, Modified: modified.UTC()}
	doc, err := r.Stat(ctx, operations.ContextPath(name))
	if err == nil {
		m.HasContext, m.SizeBytes, m.Modified = true, doc.Size, doc.ModTime.UTC()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	entries, err := r.Stat(ctx, operations.EntriesPath(name))
	if err == nil {
		m.EntryBytes = entries.Size
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	return m, nil
}
