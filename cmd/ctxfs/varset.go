package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ctxfs/codec"
	"ctxfs/variables"
)

func newVarSet(f *reachFlags) *cobra.Command {
	o := flagsOfOne{reachFlags: f}
	var typ string
	var persist bool
	cmd := &cobra.Command{
		Use:   "set [flags] KEY [FILE|-]",
		Short: "Give a variable a value: a file, or standard input",
		Long: `Make the content of FILE, or of standard input, the value of a variable. Values
of any length take the same memory. The old value stays until the new one is
whole; agent, global and persisted variables are on disk then.`,
		Example: `  jq -n '{done: 3}' | ctxfs var set progress.json --scope agent
  ctxfs var set dataset big.csv --json`,
		Args: args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			return f.reach(cmd, func(ctx context.Context, r *reached) error {
				return o.set(ctx, cmd, r, a, typ, persist)
			})
		},
	}
	o.add(cmd, "the `SCOPE` (default global)", "print the new value's ref")
	cmd.Flags().StringVar(&typ, "type", "", "text, json, memory, result or stream (default: the variable's, else by key)")
	cmd.Flags().BoolVar(&persist, "persist", false, "keep a session variable beyond the daemon's end")
	completeTypes(cmd)
	return cmd
}

func (o *flagsOfOne) set(ctx context.Context, cmd *cobra.Command, r *reached, a []string, typ string, persist bool) error {
	v, err := r.parseVariable(a[0], o.scope)
	if err != nil {
		return err
	}
	if v.scope == "" {
		v.scope = variables.Global
	}
	attrs, err := attrsOf(typ, persist)
	if err != nil {
		return err
	}
	if v.session() && !persist {
		if err := r.needsMount("a session variable", ", or --persist it"); err != nil {
			return err
		}
	}
	content, err := input(cmd, a[1:])
	if err != nil {
		return err
	}
	defer content.Close()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := r.replace(ctx, v, untilDone(ctx, content), attrs); err != nil {
		return err
	}
	if !o.json {
		return nil
	}
	ref, err := r.ref(ctx, v)
	if err != nil {
		return err
	}
	return printJSON(cmd.OutOrStdout(), ref)
}

func attrsOf(typ string, persist bool) (map[string]string, error) {
	attrs := map[string]string{}
	if typ != "" {
		t, err := variables.ParseType(typ)
		if err != nil {
			return nil, usageError{err}
		}
		attrs[variables.XattrType] = string(t)
	}
	if persist {
		attrs[variables.XattrPersist] = "1"
	}
	return attrs, nil
}

func (v variable) session() bool { return v.scope != variables.Global && v.scope[0] == 's' }

// wholeAtMost is how much of a content is read before the variable is opened
// for writing, in bytes.
const wholeAtMost = 1 << 20

// replace makes content the value of v, or leaves the old one. A content that
// is still coming, and one that becomes json where the old value does not
// parse, is put together under a name of its own first.
func (r *reached) replace(ctx context.Context, v variable, content io.Reader, attrs map[string]string) error {
	head := make([]byte, wholeAtMost)
	n, err := io.ReadFull(content, head)
	begun := io.MultiReader(bytes.NewReader(head[:n]), content)
	switch {
	case err == nil:
		return r.replaceByRename(ctx, v, begun, attrs)
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read the value: %w", err)
	}
	if attrs[variables.XattrType] == string(variables.JSON) {
		old, err := r.GetXattr(ctx, v.path(), variables.XattrType)
		if err == nil && string(old) != string(variables.JSON) {
			return r.replaceByRename(ctx, v, begun, attrs)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.Write(ctx, v.path(), begun, attrs)
}

func (r *reached) replaceByRename(ctx context.Context, v variable, content io.Reader, attrs map[string]string) error {
	// The key's end says the type.
	key := "tmp-" + rand.Text()[:12] + "-" + v.key
	if cut := len(key) - variables.MaxKey; cut > 0 {
		key = "tmp-" + rand.Text()[:12] + "-" + v.key[cut:]
	}
	temp := v.in(key)
	err := r.Write(ctx, temp, content, attrs)
	if err == nil {
		err = r.moveOver(ctx, temp, v.path(), attrs)
	}
	if err == nil {
		return nil
	}
	clean := context.WithoutCancel(ctx)
	for _, left := range []string{temp, temp + ".rej"} {
		if gone := r.Remove(clean, left); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if refused := (*codec.Refusal)(nil); errors.As(err, &refused) {
		refused.Path = v.path()
	}
	return err
}

// moveOver renames temp to path. What is there would hand its type on to a
// value whose type follows from its key, so that is said of the one or of the
// other, whichever cannot be refused.
func (r *reached) moveOver(ctx context.Context, temp, path string, attrs map[string]string) error {
	typ := attrs[variables.XattrType]
	set := func() error { return r.SetXattr(ctx, path, variables.XattrType, []byte(typ)) }
	if typ != "" && typ != string(variables.JSON) {
		if err := set(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := r.Rename(ctx, temp, path); err != nil || typ != string(variables.JSON) {
		return err
	}
	return set()
}

// untilDone reads r until ctx ends. A Read that blocks is left behind then,
// with the process soon to end.
func untilDone(ctx context.Context, r io.Reader) io.Reader { return &interruptible{ctx, r} }

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	own := make([]byte, len(p))
	go func() {
		n, err := i.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-i.ctx.Done():
		return 0, fmt.Errorf("interrupted: %w", i.ctx.Err())
	}
}
