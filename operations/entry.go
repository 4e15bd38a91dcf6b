package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"ctxfs/backing"
	"ctxfs/codec"
)

// NewEntry is an entry that is to be written.
type NewEntry struct {
	Slug, Type              string
	Tags, Links, Supersedes []string
	Body                    []byte
}

// EntryPath checks that p can be the path of an entry, from the store's root.
func EntryPath(p string) (string, error) {
	parts := strings.Split(p, "/")
	if _, err := backing.ParseKey(p); err != nil || len(parts) < 2 || len(parts) > 3 || !codec.IsEntry(parts[len(parts)-1]) {
		return "", fmt.Errorf("%q is not the path of an entry; name it as <agent>/<timestamp>-<slug>.md", p)
	}
	return p, nil
}

// CheckSlug returns nil if slug can be that of an entry.
func CheckSlug(slug string) error { return codec.CheckEntryName(entryName(time.Unix(0, 0), slug)) }

func entryName(t time.Time, slug string) string {
	return t.UTC().Format("20060102T150405") + "-" + slug + ".md"
}

// WriteEntry writes a new entry of the caller at the time now, and returns its
// path from the store's root.
func (a *Actor) WriteEntry(ctx context.Context, e NewEntry, now time.Time) (string, error) {
	if err := CheckSlug(e.Slug); err != nil {
		return "", err
	}
	dir, err := a.OwnDir()
	if err != nil {
		return "", err
	}
	path, at, err := a.freeName(ctx, dir, e.Slug, now)
	if err != nil {
		return "", err
	}
	text, err := a.compose(e, at)
	if err == nil {
		err = a.Write(ctx, path, bytes.NewReader(text), nil)
	}
	if err != nil {
		return "", errors.Join(err, a.notWritten(ctx, path))
	}
	return path, nil
}

// OwnDir is the directory of the caller's entries: that of its session, if there is one
// whose name can be a directory.
func (a *Actor) OwnDir() (string, error) {
	agent, session := a.Caller.Agent, a.Caller.Session
	if agent == "" {
		return "", badArgument(errors.New("which agent? Give --agent, or set CTXFS_AGENT"))
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

// compose makes the whole entry.
func (a *Actor) compose(e NewEntry, at time.Time) ([]byte, error) {
	fields := yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, value *yaml.Node) {
		fields.Content = append(fields.Content, scalarNode(name), value)
	}
	add("agent", scalarNode(a.Caller.Agent))
	if a.Caller.Session != "" {
		add("sessionId", scalarNode(a.Caller.Session))
	}
	add("timestamp", &yaml.Node{Kind: yaml.ScalarNode, Value: at.UTC().Format("2006-01-02T15:04:05Z")})
	add("type", scalarNode(e.Type))
	add("tags", listNode(e.Tags, yaml.FlowStyle))
	if len(e.Links) > 0 {
		add("links", listNode(e.Links, 0))
	}
	if len(e.Supersedes) > 0 {
		add("supersedes", listNode(e.Supersedes, 0))
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&fields), enc.Close()); err != nil {
		return nil, fmt.Errorf("write the frontmatter: %w", err)
	}
	b.WriteString("---\n\n")
	b.Write(e.Body)
	if !bytes.HasSuffix(e.Body, []byte("\n")) {
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

// notWritten removes the empty file of an entry that was refused.
func (a *Actor) notWritten(ctx context.Context, path string) error {
	info, err := a.Stat(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && (a.Point == "" || info.Size > 0):
		return nil
	case err != nil:
		return err
	}
	return a.Remove(ctx, path)
}
