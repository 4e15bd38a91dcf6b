package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"ctxfs/access"
	"ctxfs/codec"
	"ctxfs/operations"
)

type updateEntry struct {
	Path     string   `json:"path" jsonschema:"The path of the entry, from the store's root. Example: alice/20260221T143022-login.md"`
	OldText  string   `json:"old_text,omitempty" jsonschema:"With new_text: the passage to replace, exactly as it stands; it must occur once."`
	NewText  string   `json:"new_text,omitempty" jsonschema:"With old_text: what comes in its place; empty removes the passage."`
	Append   string   `json:"append,omitempty" jsonschema:"Text to add at the end, before the changelog."`
	Body     string   `json:"body,omitempty" jsonschema:"The whole new text; frontmatter and changelog stay."`
	Content  string   `json:"content,omitempty" jsonschema:"The whole new file, with frontmatter; lines of the changelog stay even if they are left out."`
	AddLinks []string `json:"add_links,omitempty" jsonschema:"Paths of entries to link to."`
	Summary  string   `json:"summary,omitempty" jsonschema:"What the changelog says of this change, in one line. Left out, it is made from what changed. Example: 'raised severity after patch analysis'"`
	Version  string   `json:"version,omitempty" jsonschema:"The version you have read (read_entry says it). If somebody has changed the entry since, nothing is written and an error says so."`
}

func (s *Server) updateEntry(ctx context.Context, a *operations.Actor, in updateEntry) (answer, error) {
	path, err := operations.EntryPath(in.Path)
	if err != nil {
		return answer{}, err
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	old, err := access.ReadAll(ctx, a, path)
	if err != nil {
		return answer{}, noEntry(path, err)
	}
	now, err := versionOf(ctx, a, path)
	switch {
	case err != nil:
		return answer{}, err
	case in.Version != "" && in.Version != now:
		return answer{}, fmt.Errorf("%s is at version %s, and you have read %s: somebody has changed it since (read_entry again, and change that)", path, now, in.Version)
	}
	next, err := in.apply(old)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(next, old) {
		text := "nothing changed: " + path + " is so already"
		return answer{text: text, did: text}, nil
	}
	if in.Summary != "" {
		next = codec.AppendLine(next, codec.Author{Agent: a.Caller.Agent, Time: s.o.Now()}, in.Summary)
	}
	if err := a.Write(ctx, path, bytes.NewReader(next), nil); err != nil {
		return answer{}, err
	}
	text, err := updated(ctx, a, path)
	return answer{text: text, did: text}, err
}

// updated says what has become of an entry, and under which summary.
func updated(ctx context.Context, a *operations.Actor, path string) (string, error) {
	content, err := access.ReadAll(ctx, a, path)
	if err != nil {
		return "", err
	}
	version, err := versionOf(ctx, a, path)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("updated %s, now at version %s", path, version)
	if lines := codec.ChangelogLines(content); len(lines) > 0 {
		text += ": " + strings.TrimPrefix(lines[len(lines)-1], "- ")
	}
	return text, nil
}

// apply makes the new content of an entry out of the old one.
func (in *updateEntry) apply(old []byte) ([]byte, error) {
	ways := 0
	for _, given := range []bool{in.OldText != "" || in.NewText != "", in.Append != "", in.Body != "", in.Content != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 || ways == 0 && len(in.AddLinks) == 0 {
		return nil, errors.New("give exactly one of old_text with new_text, append, body or content; or only add_links")
	}
	next, err := in.text(old)
	if err != nil || len(in.AddLinks) == 0 {
		return next, err
	}
	return codec.AddLink(next, in.AddLinks...)
}

func (in *updateEntry) text(old []byte) ([]byte, error) {
	switch {
	case in.Content != "":
		return []byte(in.Content), nil
	case in.Append != "":
		// What follows the changelog is moved above it.
		return []byte(withEnd(string(old)) + withEnd(in.Append)), nil
	case in.OldText != "":
		switch n := bytes.Count(old, []byte(in.OldText)); n {
		case 0:
			return nil, errors.New("old_text does not occur (read_entry shows the text as it stands)")
		case 1:
			return bytes.Replace(old, []byte(in.OldText), []byte(in.NewText), 1), nil
		default:
			return nil, fmt.Errorf("old_text occurs %d times (give more of what is around it, so that it occurs once)", n)
		}
	case in.NewText != "":
		return nil, errors.New("which passage shall new_text replace? give old_text, or use append")
	case in.Body == "":
		return old, nil
	}
	e, err := codec.Parse(old)
	if err != nil {
		return nil, err
	}
	return []byte(string(old[:e.Body]) + "\n" + withEnd(in.Body)), nil
}

func withEnd(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
