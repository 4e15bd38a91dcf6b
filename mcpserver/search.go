package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ctxfs/codec"
	"ctxfs/index"
	"ctxfs/operations"
)

type searchEntries struct {
	Query      string   `json:"query,omitempty" jsonschema:"Words that must all occur; \"a phrase\" in double quotes; prefix*; -word for what must not occur. Case and accents do not matter. Without query and regex: the newest entries. Example: token \"logging out\" auth*"`
	Regex      string   `json:"regex,omitempty" jsonschema:"Instead of query: a regular expression (RE2, as of Go and ripgrep) that matches within a line. Example: TODO\\(\\w+\\)"`
	IgnoreCase bool     `json:"ignore_case,omitempty" jsonschema:"The case of letters does not matter to regex."`
	Agent      string   `json:"agent,omitempty" jsonschema:"Only entries of this agent."`
	SessionID  string   `json:"session_id,omitempty" jsonschema:"Only entries of this session."`
	Type       string   `json:"type,omitempty" jsonschema:"Only entries of this type."`
	Tags       []string `json:"tags,omitempty" jsonschema:"Only entries with all these tags."`
	Since      string   `json:"since,omitempty" jsonschema:"Not older than this: a date, a date and time, or an age. Examples: 2026-02-21, 2026-02-21T14:30:00Z, 12h, 7d"`
	Until      string   `json:"until,omitempty" jsonschema:"Not younger than this."`
	LinksTo    string   `json:"links_to,omitempty" jsonschema:"Only entries that link to the entry at this path."`
	Superseded string   `json:"superseded,omitempty" jsonschema:"any (default), no (only entries that no other supersedes), only (only those that are)."`
	Offset     int      `json:"offset,omitempty" jsonschema:"How many entries to skip. Leave it out at first."`
	Limit      int      `json:"limit,omitempty" jsonschema:"How many entries at most (default 20, at most 1000)."`
}

// defaultHits is how many entries a search answers with.
const defaultHits = 20

func (s *Server) addSearch() {
	addRaw(s, tool{name: "search_entries", title: "Search entries", effect: reads, repeats: true,
		enums: map[string][]string{"type": codec.Types, "superseded": {"any", "no", "only"}},
		about: `Find entries of all agents by words, regular expression, agent, session, type, tags, time and links; all conditions that are given must hold. The best come first (with regex, or without query, the newest). For each: path, type, tags, and the lines that match with their numbers. Read the whole with read_entry. Search before you begin work, to see what is known.`,
	}, s.searchEntries)
}

func (s *Server) searchEntries(ctx context.Context, in searchEntries) (answer, error) {
	q, offset, limit, err := in.query(s.o.Now())
	if err != nil {
		return answer{}, err
	}
	var hits []index.Hit
	var note string
	err = s.door.closed(func() error {
		hits, note, err = s.o.Search(ctx, q)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	more := len(hits) > offset+limit
	hits = hits[min(offset, len(hits)):min(offset+limit, len(hits))]
	ans := answer{note: note, did: fmt.Sprintf("found %d entries", len(hits))}
	if len(hits) == 0 {
		ans.text = "nothing was found (try fewer or other words, a prefix*, or fewer conditions)"
		return ans, nil
	}
	ans.text = describe(hits)
	if more {
		ans.note = strings.TrimSpace(fmt.Sprintf("%s [there are more; call again with offset=%d]", note, offset+limit))
	}
	return ans, nil
}

func (in *searchEntries) query(now time.Time) (q index.Query, offset, limit int, err error) {
	q = index.Query{Words: in.Query, Regex: in.Regex, IgnoreCase: in.IgnoreCase, Agent: in.Agent, Session: in.SessionID,
		Type: in.Type, Tags: in.Tags, LinksTo: in.LinksTo}
	if in.Query != "" && in.Regex != "" {
		return q, 0, 0, errors.New("give query or regex, not both")
	}
	if in.Superseded != "any" {
		q.Superseded = index.Superseded(in.Superseded)
	}
	if offset, limit, err = (items{in.Offset, in.Limit}).bounds(); err != nil {
		return q, 0, 0, err
	}
	if in.Limit == 0 {
		limit = defaultHits
	}
	q.Limit = min(offset, 1_000_000) + limit + 1
	if q.Since, err = operations.Moment(in.Since, now, false); err != nil {
		return q, 0, 0, err
	}
	q.Until, err = operations.Moment(in.Until, now, true)
	return q, offset, limit, err
}

// describe shows entries that were found to a model.
func describe(hits []index.Hit) string {
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "%s  %s  [%s]", h.Path, h.Type, strings.Join(h.Tags, ", "))
		if h.Superseded {
			b.WriteString("  (superseded)")
		}
		b.WriteByte('\n')
		if len(h.Lines) == 0 && h.Title != "" {
			b.WriteString("    " + h.Title + "\n")
		}
		for _, l := range h.Lines {
			fmt.Fprintf(&b, "    %d: %s\n", l.N, l.Text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
