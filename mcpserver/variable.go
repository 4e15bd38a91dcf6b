package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"ctxfs/operations"
	"ctxfs/variables"
)

type setVariable struct {
	Key     string `json:"key" jsonschema:"The name: 1 to 200 bytes without slash, not beginning with a dot. What ends in .json must be JSON. Example: plan.json"`
	Value   any    `json:"value" jsonschema:"The value: text as a string, or any JSON, which is stored as JSON."`
	Scope   string `json:"scope,omitempty" jsonschema:"Who sees it: global (everybody; the default), agent (your own), session (this session), or agent:ID, session:ID."`
	Type    string `json:"type,omitempty" jsonschema:"What it is (default: by key and value): text, json, memory (what an agent remembers), result (of a sub-agent), stream (grows by lines)."`
	Persist bool   `json:"persist,omitempty" jsonschema:"Keep a session variable beyond the end of its session."`
}

type oneVariable struct {
	Key   string `json:"key" jsonschema:"The name of the variable. Example: plan.json"`
	Scope string `json:"scope,omitempty" jsonschema:"Look only here: global, agent, session, agent:ID or session:ID. Without it: your session, then your agent, then global."`
}

type getVariable struct {
	oneVariable
	part
}

type deleteVariable struct {
	Key   string `json:"key" jsonschema:"The name of the variable."`
	Scope string `json:"scope,omitempty" jsonschema:"Where it is: global (the default), agent, session, agent:ID or session:ID."`
}

type resolveRef struct {
	Ref any `json:"ref" jsonschema:"The whole ref as it was given to you, an object or its JSON as a string. Example: {\"id\": \"...\", \"key\": \"plan.json\", \"scope\": \"global\", \"type\": \"json\", \"sizeBytes\": 21, \"created\": \"...\"}"`
	part
}

type listVariables struct {
	Scope  string `json:"scope,omitempty" jsonschema:"Only this scope (default: all): global, agent, session, agent:ID or session:ID."`
	Type   string `json:"type,omitempty" jsonschema:"Only variables of this type."`
	Prefix string `json:"prefix,omitempty" jsonschema:"Only keys that begin with this."`
	items
}

type summarize struct {
	oneVariable
	MaxTokens int `json:"max_tokens,omitempty" jsonschema:"How long the summary may be, in tokens (default 200, at most 20000)."`
}

var typeNames = []string{"text", "json", "memory", "result", "stream"}

func (s *Server) addVariableTools() {
	types := map[string][]string{"type": typeNames}
	add(s, tool{name: "set_variable", title: "Set a variable", effect: removes, repeats: true, enums: types,
		about: `Store a value under a key, in place of the old one, and get its ref: a handle of some 200 bytes that names exactly this value. Hand the ref, not the content, to other agents; they read it with resolve.`,
	}, s.setVariable)
	add(s, tool{name: "get_variable", title: "Read a variable", effect: reads, repeats: true,
		about: `Read the value of a variable, whole or in parts. If you do not know how large it is, call ref or summarize first.`,
	}, s.getVariable)
	add(s, tool{name: "ref", title: "Get a variable's ref", effect: reads, repeats: true,
		about: `Get the ref of a variable: id, key, scope, type, sizeBytes, created; no content. It names the present value; after the variable has got another one, the ref is refused and not answered with something else.`,
	}, s.ref)
	add(s, tool{name: "resolve", title: "Read the value a ref names", effect: reads, repeats: true,
		about: `Read the value that a ref names, whole or in parts. An error says where the variable has got another value since, or is gone: then ask for a new ref.`,
	}, s.resolve)
	add(s, tool{name: "delete_variable", title: "Delete a variable", effect: removes, repeats: false,
		about: `Remove a variable for good. Refs of it are refused from then on.`,
	}, s.deleteVariable)
	add(s, tool{name: "list_variables", title: "List variables", effect: reads, repeats: true, enums: types,
		about: `List variables, one JSON object a line: the fields of a ref, modified, and whether it is persisted. No content is read.`,
	}, s.listVariables)
	add(s, tool{name: "summarize", title: "Summarize a variable", effect: reads, repeats: true,
		about: `Say in few tokens what a variable holds: of text headings and first sentences, of JSON its shape, counts and samples, of a stream head, tail and count. Use it to decide whether to read the whole.`,
	}, s.summarize)
}

// withSession is a as somebody who has a session.
func (s *Server) withSession(a *operations.Actor) *operations.Actor {
	in := *a
	in.Caller.Session = s.session(a, "")
	return &in
}

func (s *Server) setVariable(ctx context.Context, a *operations.Actor, in setVariable) (answer, error) {
	a = s.withSession(a)
	v, err := a.ParseVariable(in.Key, in.Scope)
	if err != nil {
		return answer{}, err
	}
	if v.Scope == "" {
		v.Scope = variables.Global
	}
	text, isText := in.Value.(string)
	content := []byte(text)
	if !isText {
		content = mustJSON(in.Value)
		if in.Type == "" {
			in.Type = string(variables.JSON)
		}
	}
	// Without a daemon it would be gone after this call.
	lasts := in.Persist || v.Session() && a.Point == ""
	attrs, err := operations.Attributes(in.Type, lasts)
	if err != nil {
		return answer{}, err
	}
	if err := a.Replace(ctx, v, bytes.NewReader(content), attrs); err != nil {
		return answer{}, err
	}
	ref, err := a.Ref(ctx, v)
	if err != nil {
		return answer{}, err
	}
	return answer{text: string(mustJSON(ref)), did: fmt.Sprintf("set %s, %s, %d bytes", v.Path(), ref.Type, ref.SizeBytes)}, nil
}

func (s *Server) getVariable(ctx context.Context, a *operations.Actor, in getVariable) (answer, error) {
	v, err := s.withSession(a).Existing(ctx, in.Key, in.Scope)
	if err != nil {
		return answer{}, err
	}
	ans, err := readPart(ctx, a, v.Path(), in.part)
	ans.did = "read " + v.Path()
	return ans, err
}

func (s *Server) ref(ctx context.Context, a *operations.Actor, in oneVariable) (answer, error) {
	v, err := s.withSession(a).Existing(ctx, in.Key, in.Scope)
	if err != nil {
		return answer{}, err
	}
	ref, err := a.Ref(ctx, v)
	if err != nil {
		return answer{}, err
	}
	return answer{text: string(mustJSON(ref)), did: "took a ref of " + v.Path()}, nil
}

func (s *Server) resolve(ctx context.Context, a *operations.Actor, in resolveRef) (answer, error) {
	raw, isText := in.Ref.(string)
	text := []byte(raw)
	if !isText {
		text = mustJSON(in.Ref)
	}
	ref, err := variables.ParseRef(text)
	if err != nil {
		return answer{}, err
	}
	c, err := a.Resolve(ctx, ref)
	if err != nil {
		return answer{}, err
	}
	ans, err := partOf(c, in.part)
	ans.did = fmt.Sprintf("resolved a ref of %s/%s", ref.Scope, ref.Key)
	return ans, err
}

func (s *Server) deleteVariable(ctx context.Context, a *operations.Actor, in deleteVariable) (answer, error) {
	v, err := s.withSession(a).ParseVariable(in.Key, in.Scope)
	if err != nil {
		return answer{}, err
	}
	if v.Scope == "" {
		v.Scope = variables.Global
	}
	if err := a.RemoveVariable(ctx, v); err != nil {
		return answer{}, err
	}
	text := "deleted " + string(v.Scope) + "/" + v.Key
	return answer{text: text, did: text}, nil
}

func (s *Server) listVariables(ctx context.Context, a *operations.Actor, in listVariables) (answer, error) {
	offset, limit, err := in.bounds()
	if err != nil {
		return answer{}, err
	}
	scopes, err := s.withSession(a).Scopes(ctx, in.Scope)
	if err != nil {
		return answer{}, err
	}
	n := 0
	var lines []string
	err = a.EachVariable(ctx, scopes, in.Type, in.Prefix, func(m variables.Meta) error {
		if n >= offset && len(lines) < limit {
			line, err := json.Marshal(m)
			if err != nil {
				return err
			}
			lines = append(lines, string(line))
		}
		n++
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	ans := answer{text: strings.Join(lines, "\n"), note: pageNote(offset, len(lines), n), did: fmt.Sprintf("listed %d variables", len(lines))}
	if n == 0 {
		ans.text = "there are no variables that match"
	}
	return ans, nil
}

func (s *Server) summarize(ctx context.Context, a *operations.Actor, in summarize) (answer, error) {
	v, err := s.withSession(a).Existing(ctx, in.Key, in.Scope)
	if err != nil {
		return answer{}, err
	}
	if in.MaxTokens == 0 {
		in.MaxTokens = variables.DefaultSummaryTokens
	}
	if in.MaxTokens < 1 || in.MaxTokens > variables.MaxSummaryTokens {
		return answer{}, fmt.Errorf("max_tokens is 1 to %d", variables.MaxSummaryTokens)
	}
	text, err := a.Summary(ctx, v, in.MaxTokens)
	return answer{text: text, did: "summarized " + v.Path()}, err
}
