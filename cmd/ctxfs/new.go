package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"ctxfs/codec"
	"ctxfs/entries"
)

// newFlags are what `new` is told of an entry beside its body.
type newFlags struct {
	reachFlags
	kind                    string
	tags, links, supersedes []string
}

func newNew() *cobra.Command {
	var f newFlags
	cmd := &cobra.Command{
		Use:        "new [flags] --type TYPE SLUG",
		SuggestFor: []string{"add", "create", "write"},
		Short:      "Write a new entry, its body from standard input",
		Long: `Write a new entry and print its path: <agent>/<timestamp>-SLUG.md, or
<agent>/<session>/<timestamp>-SLUG.md where there is a session whose name can be
a directory. The body is read from standard input; the frontmatter is made from
the flags. The path is below the mountpoint where a mount serves the store, else
below the store's directory.

The types are ` + strings.Join(codec.Types, ", ") + `.`,
		Example: `  echo "The token is never checked." | ctxfs new --type finding --tags auth,security auth-token
  ctxfs new --type decision --agent alice --link bob/20260221T143022-x.md use-wal < body.md`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return f.run(cmd, a[0], time.Now().UTC()) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.kind, "type", "", "the `TYPE` of the entry (required)")
	flags.StringSliceVar(&f.tags, "tags", nil, "`TAGS` with commas between them")
	flags.StringArrayVar(&f.links, "link", nil, "link to the entry at `PATH`; may be given several times")
	flags.StringArrayVar(&f.supersedes, "supersedes", nil, "take the place of the entry at `PATH`; may be given several times")
	return cmd
}

func (f *newFlags) run(cmd *cobra.Command, slug string, now time.Time) error {
	if f.kind == "" {
		return usageError{fmt.Errorf("which --type? One of %s", strings.Join(codec.Types, ", "))}
	}
	name := func(t time.Time) string { return t.Format("20060102T150405") + "-" + slug + ".md" }
	if err := codec.CheckEntryName(name(now)); err != nil {
		return err
	}
	for _, list := range [][]string{f.links, f.supersedes} {
		for i, arg := range list {
			path, err := f.entry(arg)
			if err != nil {
				return err
			}
			list[i] = path
		}
	}
	return f.reach(cmd, func(ctx context.Context, r *reached) error {
		dir, err := r.ownDir()
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), entries.MaxSize+1))
		if err != nil {
			return fmt.Errorf("read the body: %w", err)
		}
		path, at, err := r.freeName(ctx, dir, name, now)
		if err != nil {
			return err
		}
		text, err := f.compose(r, at, body)
		if err != nil {
			return err
		}
		if err := r.Write(ctx, path, bytes.NewReader(text), nil); err != nil {
			return errors.Join(err, r.notWritten(ctx, path))
		}
		top := r.dir
		if r.point != "" {
			top = r.point
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(top, path))
		return err
	})
}

// ownDir is the directory of the caller: that of its session, if there is one
// whose name can be a directory.
func (r *reached) ownDir() (string, error) {
	agent, session := r.caller.Agent, r.caller.Session
	if agent == "" {
		return "", usageError{errors.New("which agent? Give --agent, or set CTXFS_AGENT")}
	}
	if err := codec.CheckDirName(agent); err != nil {
		return "", err
	}
	if codec.Reserved[agent] {
		return "", fmt.Errorf("%q is reserved and cannot be an agent", agent)
	}
	if session == "" || codec.CheckDirName(session) != nil || codec.IsEntry(session) {
		return agent, nil
	}
	return agent + "/" + session, nil
}

// maxSeconds is how far a name may lie ahead because others have the seconds
// before it.
const maxSeconds = 60

// freeName takes a name in dir that nobody else has. Where a daemon serves
// the store the name is taken by an empty file, which the entry then fills;
// here, nobody else can write.
func (r *reached) freeName(ctx context.Context, dir string, name func(time.Time) string, now time.Time) (path string, at time.Time, err error) {
	if r.point != "" {
		if err := os.MkdirAll(filepath.Join(r.point, dir), 0o755); err != nil {
			return "", now, err
		}
	}
	for n := range maxSeconds {
		at = now.Add(time.Duration(n) * time.Second)
		path = dir + "/" + name(at)
		_, err = r.Stat(ctx, path)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", at, err
		case r.point == "":
			return path, at, nil
		}
		file, err := os.OpenFile(filepath.Join(r.point, path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			return path, at, file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", at, err
		}
	}
	return "", at, fmt.Errorf("%s and the %d names after it are taken", path, maxSeconds)
}

// notWritten removes the empty file of an entry that was refused.
func (r *reached) notWritten(ctx context.Context, path string) error {
	if info, err := r.Stat(ctx, path); r.point != "" && err == nil && info.Size == 0 {
		return r.Remove(ctx, path)
	}
	return nil
}

// compose makes the whole entry.
func (f *newFlags) compose(r *reached, at time.Time, body []byte) ([]byte, error) {
	fields := yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, value *yaml.Node) {
		fields.Content = append(fields.Content, scalarNode(name), value)
	}
	add("agent", scalarNode(r.caller.Agent))
	if r.caller.Session != "" {
		add("sessionId", scalarNode(r.caller.Session))
	}
	add("timestamp", &yaml.Node{Kind: yaml.ScalarNode, Value: stamp(at)})
	add("type", scalarNode(f.kind))
	add("tags", listNode(f.tags, yaml.FlowStyle))
	if len(f.links) > 0 {
		add("links", listNode(f.links, 0))
	}
	if len(f.supersedes) > 0 {
		add("supersedes", listNode(f.supersedes, 0))
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&fields), e.Close()); err != nil {
		return nil, fmt.Errorf("write the frontmatter: %w", err)
	}
	b.WriteString("---\n\n")
	b.Write(body)
	if !bytes.HasSuffix(body, []byte("\n")) {
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

func scalarNode(s string) *yaml.Node {
	var n yaml.Node
	n.SetString(s)
	return &n
}

func listNode(items []string, style yaml.Style) *yaml.Node {
	n := yaml.Node{Kind: yaml.SequenceNode, Style: style}
	for _, s := range items {
		n.Content = append(n.Content, scalarNode(s))
	}
	return &n
}
