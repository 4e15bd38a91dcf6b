package codec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Known is what the file system knows of an entry without reading it, and by
// which it checks and completes the frontmatter.
type Known struct {
	Agent      string    // the agent's directory; "" where it is not known
	SessionDir string    // the session's directory, "" directly under the agent's
	Session    string    // the caller's SFA_SESSION_ID, or the session of the entry that is overwritten
	Time       time.Time // from the file's name
	Strict     bool      // refuse instead of filling in
}

// session returns what sessionId is filled in with, "" for nothing.
func (k Known) session() string {
	if s := CleanLabel(k.Session); s != "" {
		return s
	}
	return CleanLabel(k.SessionDir)
}

func (k Known) dir() string {
	if k.SessionDir == "" {
		return k.Agent
	}
	return k.Agent + "/" + k.SessionDir
}

// valid refuses the first field that is wrong, or missing where neither the
// file system knows it nor the entry may do without.
func (k Known) valid(all []field, f frontmatter) *Refusal {
	if _, r := entryOf(all, f.body); r != nil {
		return r
	}
	has := map[string]bool{}
	for _, fd := range all {
		has[fd.name] = true
		if r := k.validField(fd); r != nil {
			return r
		}
	}
	missing := func(name, fix string) *Refusal {
		return refuse(f.lines, name, name+" is missing", fix+" above this one")
	}
	switch {
	case !has["type"]:
		return missing("type", "add a line "+typeFix)
	case !has["agent"] && (k.Strict || k.Agent == ""):
		return missing("agent", "add a line `agent: "+orExample(k.Agent, "code-reviewer")+"`")
	case !has["sessionId"] && k.Strict && k.session() != "":
		return missing("sessionId", "add a line `sessionId: "+k.session()+"`")
	case !has["timestamp"] && (k.Strict || k.Time.IsZero()):
		return missing("timestamp", "add a line `timestamp: "+exampleStamp(k.Time)+"`")
	case !has["tags"] && k.Strict:
		return missing("tags", "add a line `tags: []` (or words to find it by, `tags: [security, auth]`)")
	}
	return nil
}

func orExample(s, example string) string {
	if s == "" {
		return example
	}
	return s
}

func exampleStamp(t time.Time) string {
	if t.IsZero() {
		return "2026-02-21T14:30:22Z"
	}
	return t.UTC().Format(stampLayout)
}

// validField checks one field whose shape is right.
func (k Known) validField(f field) *Refusal {
	s := f.value.Value
	switch f.name {
	case "agent":
		if s == "" {
			return refuse(f.line, f.name, "agent is empty", "write `agent: "+orExample(k.Agent, "code-reviewer")+"`, or remove the line")
		}
		if k.Agent != "" && s != k.Agent {
			return refuse(f.line, f.name, fmt.Sprintf("agent is %s, but the entry lies in the directory of %s", quote(s), quote(k.Agent)),
				"write `agent: "+k.Agent+"`, or remove the line, or write the entry to its own agent's directory")
		}
	case "sessionId":
		if strings.TrimSpace(s) == "" || f.value.Tag == "!!null" {
			return refuse(f.line, f.name, "sessionId is empty", "write the session's id, or remove the line")
		}
	case "timestamp":
		if _, ok := parseStamp(s); !ok {
			return refuse(f.line, f.name, fmt.Sprintf("timestamp is %s, not an ISO 8601 date and time", quote(s)),
				"write `timestamp: "+exampleStamp(k.Time)+"`, or remove the line")
		}
	case "type":
		return validType(f, s)
	case "links", "supersedes":
		return k.validLinks(f)
	}
	return nil
}

func validType(f field, s string) *Refusal {
	if slices.Contains(Types, s) {
		return nil
	}
	fix := "write " + typeFix
	if near := strings.ToLower(strings.TrimSpace(s)); slices.Contains(Types, near) {
		fix = "write `type: " + near + "`"
	}
	reason := fmt.Sprintf("type is %s, which is none of the five types", quote(s))
	if s == "" {
		reason = "type is empty"
	}
	return refuse(f.line, f.name, reason, fix)
}

func (k Known) validLinks(f field) *Refusal {
	for _, item := range f.value.Content {
		if _, r := resolveLink(k.dir(), item.Value); r != nil {
			r.Line, r.Field = item.Line+1, f.name
			return r
		}
	}
	return nil
}
