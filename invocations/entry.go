package invocations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Entry is one invocation of a tool (reference/5, Data Structure). What is
// left at its zero value is filled in by [History.Append].
type Entry struct {
	ToolName  string          // required
	Params    json.RawMessage // any JSON; nil is null
	Result    json.RawMessage // any JSON; nil is null
	Success   *bool           // nil is true
	Summary   *string         // nil is null
	Timestamp time.Time       // zero is now
	ID        uuid.UUID       // uuid.Nil is a new random one
	Extra     []Field         // other fields, in their order

	// Line is the line as it is stored, without its end. Only reading sets
	// it, and writing does not look at it.
	Line []byte
}

// Field is a field of an entry that this package does not know.
type Field struct {
	Name  string
	Value json.RawMessage
}

// The names of the fields, in the order in which they are written.
const (
	toolName  = "tool_name"
	params    = "params"
	result    = "result"
	success   = "success"
	summary   = "summary"
	timestamp = "timestamp"
	id        = "id"
)

// Failed reports whether the tool failed.
func (e Entry) Failed() bool { return e.Success != nil && !*e.Success }

// MarshalJSON writes the fields of the reference in their order, then the
// others. It returns an error where Params, Result or an extra value is no
// JSON.
func (e Entry) MarshalJSON() ([]byte, error) {
	fields := []Field{{toolName, quoted(e.ToolName)}, {params, orNull(e.Params)}, {result, orNull(e.Result)},
		{success, json.RawMessage("true")}, {summary, nil}, {timestamp, quoted(e.Timestamp.UTC().Format(time.RFC3339Nano))},
		{id, quoted(e.ID.String())}}
	if e.Failed() {
		fields[3].Value = json.RawMessage("false")
	}
	if e.Summary != nil {
		fields[4].Value = quoted(*e.Summary)
	}
	var b bytes.Buffer
	for i, f := range append(fields, e.Extra...) {
		if b.WriteByte(','); i == 0 {
			b.Reset()
			b.WriteByte('{')
		}
		b.Write(quoted(f.Name))
		b.WriteByte(':')
		// Compact also brings a value that was printed on several lines
		// onto this one.
		if err := json.Compact(&b, orNull(f.Value)); err != nil {
			return nil, fmt.Errorf("write field %s: %w", f.Name, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an entry. Fields that may be missing keep their zero
// value where they are. It returns a *codec.Refusal where the text is no
// invocation.
func (e *Entry) UnmarshalJSON(text []byte) error {
	parsed, _, err := parse(text)
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

func orNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

// quoted is s as JSON, with <, > and & as they are.
func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always has a JSON
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
