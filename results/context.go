package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Context is the content of a result's file (reference/2, File Contents).
type Context struct {
	ToolName  string          `json:"toolName"`
	Args      json.RawMessage `json:"args"`   // an object
	Result    json.RawMessage `json:"result"` // any JSON value
	Timestamp time.Time       `json:"timestamp"`
	QueryID   string          `json:"queryId"` // may be empty
	SessionID string          `json:"sessionId"`
	TaskID    string          `json:"taskId,omitempty"`
}

// Encode returns the name and the content of c's file: one member a line, in
// the order of the reference, without changing a byte of Args and Result but
// for white space. The hash in the name is that of [HashQuery] over the
// content without its timestamp: the same call with the same result is one
// file, another result of it is another. Nil Args are {}, a nil Result is
// null. Where something is missing or no JSON it returns a *codec.Refusal
// with EINVAL.
func (c Context) Encode() (name string, content []byte, err error) {
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	if len(c.Result) == 0 {
		c.Result = json.RawMessage("null")
	}
	type field struct {
		name  string
		value any
	}
	fields := []field{{"toolName", c.ToolName}, {"args", c.Args}, {"result", c.Result},
		{"timestamp", c.Timestamp.UTC().Format(time.RFC3339Nano)}, {"queryId", c.QueryID}, {"sessionId", c.SessionID}}
	if c.TaskID != "" {
		fields = append(fields, field{"taskId", c.TaskID})
	}
	var b, hashed bytes.Buffer
	for i, f := range fields {
		text, err := encode(f.value)
		if err != nil {
			return "", nil, refuse("", 0, f.name, "it is no JSON: "+err.Error(), "give a value that can be written as JSON")
		}
		before := ",\n  "
		if i == 0 {
			before = "{\n  "
		}
		fmt.Fprintf(&b, "%s%q: %s", before, f.name, text)
		if f.name != "timestamp" {
			fmt.Fprintf(&hashed, "%q:%s\n", f.name, text)
		}
	}
	b.WriteString("\n}\n")
	name, err = FileName(c.SessionID, c.ToolName, hashOf(hashed.Bytes()))
	return name, b.Bytes(), err
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// decode reads a file that has passed [Check]. It does not unmarshal into a
// struct, which would take "toolname" for "toolName".
func decode(content []byte) (*Context, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	c := &Context{Args: members["args"], Result: members["result"]}
	var stamp string
	for name, into := range map[string]*string{"toolName": &c.ToolName, "timestamp": &stamp, "queryId": &c.QueryID,
		"sessionId": &c.SessionID, "taskId": &c.TaskID} {
		if text, ok := members[name]; ok {
			if err := json.Unmarshal(text, into); err != nil {
				return nil, fmt.Errorf("read %s of a result: %w", name, err)
			}
		}
	}
	var ok bool
	if c.Timestamp, ok = parseTime(stamp); !ok {
		return nil, fmt.Errorf("read a result: timestamp %q", stamp)
	}
	return c, nil
}

// timeLayouts are the forms of ISO 8601 that a timestamp may have, with or
// without a fraction of a second; without a zone it is UTC.
var timeLayouts = []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05",
	"20060102T150405Z07:00", "20060102T150405Z0700", "20060102T150405"}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
