package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ctxfs/codec"
	"ctxfs/operations"
)

type writeEntry struct {
	Slug       string   `json:"slug" jsonschema:"A few words that name it, with hyphens: letters, digits and . _ - only. Example: token-not-checked"`
	Type       string   `json:"type" jsonschema:"finding (what you found out), decision (what was decided and why), artifact (something made), reference (where to look things up), summary (of several entries or a session)."`
	Body       string   `json:"body" jsonschema:"The text, in Markdown, in enough detail to be understood without this conversation. Begin with a # heading that says it in one line. No frontmatter: that is made from the other arguments."`
	Tags       []string `json:"tags,omitempty" jsonschema:"Words to find it by. Example: [\"auth\", \"security\"]"`
	Links      []string `json:"links,omitempty" jsonschema:"Paths of entries that belong to it. Example: [\"alice/20260221T143022-login.md\"]"`
	Supersedes []string `json:"supersedes,omitempty" jsonschema:"Paths of entries whose place it takes; they get a line that says so."`
	Agent      string   `json:"agent,omitempty" jsonschema:"The name of the agent that writes, if it is not you, as for a sub-agent: letters, digits and . _ : -"`
	SessionID  string   `json:"session_id,omitempty" jsonschema:"The session it belongs to, if it is not the one this server was started for."`
}

type readEntry struct {
	Path string `json:"path" jsonschema:"The path of the entry, from the store's root. Example: alice/20260221T143022-login.md"`
	part
}

type supersedeEntry struct {
	OldPath string `json:"old_path" jsonschema:"The entry that is replaced. Example: alice/20260221T143022-login.md"`
	NewPath string `json:"new_path" jsonschema:"The entry that takes its place; write it first. Example: alice/20260223T090000-login-again.md"`
}

func (s *Server) addEntryTools() {
	add(s, tool{name: "write_entry", title: "Write a new entry", effect: adds, enums: map[string][]string{"type": codec.Types},
		about: `Write a new entry into the store: a Markdown note that you and other agents find again later. Write one whenever you have found out, decided or made something that should outlive this conversation; one matter an entry. Answers with its path. Entries are never deleted. To change one use update_entry.`,
	}, s.writeEntry)
	add(s, tool{name: "read_entry", title: "Read an entry", effect: reads, repeats: true,
		about: `Read an entry: its frontmatter (agent, sessionId, timestamp, type, tags, links), its text, and the changelog at its end. The note after the text says its version, which update_entry takes.`,
	}, s.readEntry)
	add(s, tool{name: "update_entry", title: "Change an entry", effect: adds,
		about: `Change an entry, of any agent: give exactly one of new_text with old_text (replace a passage), append (add at the end of the text), body (a new text under the same frontmatter) or content (the whole file); or only add_links. The old version is kept, and a line in the changelog says who changed what. Give version so that nobody's change is overwritten unseen.`,
	}, s.updateEntry)
	add(s, tool{name: "supersede_entry", title: "Mark an entry as replaced", effect: adds, repeats: true,
		about: `Say that one entry takes the place of another: the new one gets the old one's path into supersedes and links, the old one a line in its changelog. Both stay. Write the new entry first, or give supersedes to write_entry.`,
	}, s.supersedeEntry)
	s.addSearch()
}

func (s *Server) writeEntry(ctx context.Context, a *operations.Actor, in writeEntry) (answer, error) {
	if in.Type == "" {
		return answer{}, errors.New("which type? One of " + strings.Join(codec.Types, ", "))
	}
	by := *a
	if in.Agent != "" {
		by.Caller.Agent = in.Agent
	}
	if in.SessionID != "" {
		by.Caller.Session = codec.CleanLabel(in.SessionID)
	}
	e := operations.NewEntry{Slug: in.Slug, Type: in.Type, Tags: in.Tags, Links: in.Links, Supersedes: in.Supersedes, Body: []byte(in.Body)}
	s.edit.Lock() // of two with one name within a second, the later one takes the next second
	defer s.edit.Unlock()
	path, err := by.WriteEntry(ctx, e, s.o.Now().UTC())
	if err != nil {
		return answer{}, err
	}
	return answer{text: path, did: "wrote " + path}, nil
}

func (s *Server) readEntry(ctx context.Context, a *operations.Actor, in readEntry) (answer, error) {
	path, err := operations.EntryPath(in.Path)
	if err != nil {
		return answer{}, err
	}
	ans, err := readPart(ctx, a, path, in.part)
	if err != nil {
		return ans, noEntry(path, err)
	}
	version, err := versionOf(ctx, a, path)
	if err != nil {
		return ans, noEntry(path, err)
	}
	ans.note = strings.TrimSpace(fmt.Sprintf("%s [version %s]", ans.note, version))
	ans.did = "read " + path
	return ans, nil
}

// versionOf is the number of an entry's version.
func versionOf(ctx context.Context, a *operations.Actor, path string) (string, error) {
	version, err := a.GetXattr(ctx, path, "user.ctxfs.version")
	return string(version), err
}

// noEntry says how to find what is not there.
func noEntry(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no entry %q (search_entries finds paths)", path)
	}
	return err
}

func (s *Server) supersedeEntry(ctx context.Context, a *operations.Actor, in supersedeEntry) (answer, error) {
	for _, p := range []string{in.OldPath, in.NewPath} {
		if _, err := operations.EntryPath(p); err != nil {
			return answer{}, err
		}
		if _, err := a.Stat(ctx, p); err != nil {
			return answer{}, noEntry(p, err)
		}
	}
	s.edit.Lock()
	defer s.edit.Unlock()
	if err := a.Supersede(ctx, in.OldPath, in.NewPath); err != nil {
		return answer{}, err
	}
	text := in.OldPath + " is superseded by " + in.NewPath
	return answer{text: text, did: text}, nil
}
