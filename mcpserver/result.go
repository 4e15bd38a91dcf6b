package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ctxfs/operations"
	"ctxfs/results"
)

type saveContext struct {
	ToolName  string         `json:"tool_name" jsonschema:"The tool that returned it. Example: search_code"`
	Args      map[string]any `json:"args,omitempty" jsonschema:"The arguments it was called with. Example: {\"query\": \"TODO\"}"`
	Result    any            `json:"result" jsonschema:"What it returned: any JSON, or text as a string."`
	TaskID    string         `json:"task_id,omitempty" jsonschema:"The task it was for."`
	QueryID   string         `json:"query_id,omitempty" jsonschema:"The id of the user's query that it answers."`
	Query     string         `json:"query,omitempty" jsonschema:"Instead of query_id: the query itself; its hash becomes the query_id."`
	SessionID string         `json:"session_id,omitempty" jsonschema:"Another session than your own."`
}

type loadContext struct {
	Filepath  string `json:"filepath,omitempty" jsonschema:"The filepath that save_context or list_contexts gave. Example: results/s1-search_code-1f2e3d4c5b6a.json"`
	Number    int    `json:"number,omitempty" jsonschema:"Instead of filepath: the number in list_contexts, from 1."`
	SessionID string `json:"session_id,omitempty" jsonschema:"With number: the session_id that list_contexts was given."`
	part
}

type listContexts struct {
	SessionID string `json:"session_id,omitempty" jsonschema:"Another session than your own; * is all of them."`
	items
}

type clearContexts struct {
	SessionID string `json:"session_id,omitempty" jsonschema:"Another session than your own."`
}

func (s *Server) addResultTools() {
	add(s, tool{name: "save_context", title: "Put a tool result aside", effect: adds, repeats: true,
		about: `Put the output of a tool aside for this session, so that it need not stay in your context, and get a pointer: filepath, toolName, timestamp (ms), sizeBytes, queryId. Saving the same again gives the same filepath. Results end with the session; what must last is for write_entry.`,
	}, s.saveContext)
	add(s, tool{name: "load_context", title: "Load a saved tool result", effect: reads, repeats: true,
		about: `Load a result that was saved, by filepath or by its number in list_contexts: a JSON object with toolName, args, result, timestamp, queryId, sessionId. Load only what the answer needs.`,
	}, s.loadContext)
	add(s, tool{name: "list_contexts", title: "List saved tool results", effect: reads, repeats: true,
		about: `List the results that were saved in this session, oldest first, one a line: number, pointer, and a description such as 'Found 150 matches for "TODO"'. Nothing is loaded. Choose from the descriptions what to load_context.`,
	}, s.listContexts)
	add(s, tool{name: "clear_contexts", title: "Remove saved tool results", effect: removes, repeats: true,
		about: `Remove all results that were saved in this session. Do this when the task is done. Answers how many there were.`,
	}, s.clearContexts)
}

// session is that of tool results and session variables.
func (s *Server) session(a *operations.Actor, said string) string {
	for _, id := range []string{said, a.Caller.Session} {
		if id != "" {
			return id
		}
	}
	return s.o.Session
}

func (s *Server) saveContext(ctx context.Context, a *operations.Actor, in saveContext) (answer, error) {
	at, err := s.own.at(ctx, a)
	if err != nil {
		return answer{}, err
	}
	c := results.Context{ToolName: in.ToolName, Result: mustJSON(in.Result), Timestamp: s.o.Now(),
		QueryID: in.QueryID, SessionID: s.session(a, in.SessionID), TaskID: in.TaskID, Args: json.RawMessage("{}")}
	if in.Args != nil {
		c.Args = mustJSON(in.Args)
	}
	if in.Query != "" && in.QueryID == "" {
		c.QueryID = results.HashQuery(in.Query)
	}
	p, err := at.SaveResult(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return answer{text: string(mustJSON(p)), did: fmt.Sprintf("saved %s, %d bytes", p.Filepath, p.SizeBytes)}, nil
}

func (s *Server) loadContext(ctx context.Context, a *operations.Actor, in loadContext) (answer, error) {
	at, err := s.own.at(ctx, a)
	if err != nil {
		return answer{}, err
	}
	path := in.Filepath
	switch {
	case (path == "") == (in.Number == 0):
		return answer{}, errors.New("which result? give filepath, or number of list_contexts")
	case path == "":
		all, err := at.Results(ctx, s.listed(a, in.SessionID))
		if err != nil {
			return answer{}, err
		}
		picked, err := results.Pick(all, []int{in.Number})
		if err != nil {
			return answer{}, err
		}
		path = picked[0].Filepath
	}
	if !strings.HasPrefix(path, operations.ResultsDir+"/") {
		path = operations.ResultsDir + "/" + path
	}
	ans, err := readPart(ctx, at, path, in.part)
	if errors.Is(err, fs.ErrNotExist) {
		return ans, fmt.Errorf("there is no result %q (any more); list_contexts shows those there are", path)
	}
	ans.did = "loaded " + path
	return ans, err
}

// listed is the session of which results are listed; "" is all.
func (s *Server) listed(a *operations.Actor, said string) string {
	if said == "*" {
		return ""
	}
	return s.session(a, said)
}

// listedJSON is a line of list_contexts.
type listedJSON struct {
	Number int `json:"number"`
	results.Listed
}

func (s *Server) listContexts(ctx context.Context, a *operations.Actor, in listContexts) (answer, error) {
	at, err := s.own.at(ctx, a)
	if err != nil {
		return answer{}, err
	}
	offset, limit, err := in.bounds()
	if err != nil {
		return answer{}, err
	}
	all, err := at.Results(ctx, s.listed(a, in.SessionID))
	if err != nil {
		return answer{}, err
	}
	var lines []string
	for i := offset; i < min(offset+limit, len(all)); i++ {
		lines = append(lines, string(mustJSON(listedJSON{i + 1, all[i]})))
	}
	ans := answer{text: strings.Join(lines, "\n"), note: pageNote(offset, len(lines), len(all)), did: fmt.Sprintf("listed %d results", len(lines))}
	if len(all) == 0 {
		ans.text = "no results are saved in this session"
	}
	return ans, nil
}

func (s *Server) clearContexts(ctx context.Context, a *operations.Actor, in clearContexts) (answer, error) {
	at, err := s.own.at(ctx, a)
	if err != nil {
		return answer{}, err
	}
	session := s.session(a, in.SessionID)
	n, err := at.ClearResults(ctx, session)
	if err != nil {
		return answer{}, err
	}
	text := fmt.Sprintf("cleared %d results of the session %s", n, session)
	return answer{text: text, did: text}, nil
}
