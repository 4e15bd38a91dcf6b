package invocations

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"ctxfs/codec"
)

// MaxLine is the length of the longest line, in bytes without its end; a
// longer one is refused with EFBIG.
const MaxLine = 8 << 20

// has says which fields a line has that may be missing.
type has struct{ success, timestamp, id bool }

// complete checks a line and returns it with what was missing filled in, at
// its end, every other byte as it was. The line has no line end. It returns a
// *codec.Refusal where the line is no invocation.
func complete(line []byte, now func() time.Time, newID func() uuid.UUID) ([]byte, error) {
	line = bytes.TrimSpace(line)
	_, found, err := parse(line)
	if err != nil {
		return nil, err
	}
	if found == (has{true, true, true}) {
		return line, nil
	}
	done := append([]byte(nil), line[:len(line)-1]...)
	if !found.success {
		done = append(done, `,"success":true`...)
	}
	if !found.timestamp {
		done = fmt.Appendf(done, `,"timestamp":"%s"`, now().UTC().Format(time.RFC3339Nano))
	}
	if !found.id {
		done = fmt.Appendf(done, `,"id":"%s"`, newID())
	}
	return append(done, '}'), nil
}

// parse reads a line.
func parse(line []byte) (Entry, has, error) {
	var e Entry
	var found has
	line = bytes.TrimSpace(line)
	if err := checkText(line); err != nil {
		return e, found, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if _, err := d.Token(); err != nil {
		return e, found, refuse("", "it is no JSON: "+err.Error(), writeOne)
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return e, found, refuse("", "it is no JSON: "+err.Error(), writeOne)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return e, found, refuse("", "it is no JSON: "+err.Error(), writeOne)
		}
		field, _ := name.(string)
		if err := e.set(field, value, &found); err != nil {
			return e, found, err
		}
		if known(field) && seen[field] {
			return e, found, refuse(field, "it stands there twice", "write it once")
		}
		seen[field] = true
	}
	return e, found, checkRequired(seen)
}

const writeOne = `write each invocation as one JSON object on one line, as jq -c does: {"tool_name":"grep","params":{},"result":null}`

// checkText says whether line is a JSON object.
func checkText(line []byte) error {
	switch {
	case len(line) > MaxLine:
		return &codec.Refusal{Errno: syscall.EFBIG, Path: file, Reason: fmt.Sprintf("a line has at most %d MiB", MaxLine>>20),
			Fix: "keep a long result elsewhere, as in results/, and name it in the line"}
	case !utf8.Valid(line):
		return refuse("", "it is not UTF-8", "write the text in UTF-8")
	case len(line) == 0 || line[0] != '{':
		return refuse("", "a line is one JSON object", writeOne)
	}
	if json.Valid(line) {
		return nil
	}
	var whole json.RawMessage
	return refuse("", fmt.Sprintf("it is no JSON: %v", json.Unmarshal(line, &whole)), writeOne)
}

func known(field string) bool {
	switch field {
	case toolName, params, result, success, summary, timestamp, id:
		return true
	}
	return false
}

func checkRequired(seen map[string]bool) error {
	for _, field := range []string{toolName, params, result} {
		if !seen[field] {
			return refuse(field, "it is missing", "add "+map[string]string{
				toolName: `"tool_name": "..."`, params: `"params": {...}, or null`, result: `"result": ..., or null`}[field])
		}
	}
	return nil
}

// set takes over a field, and checks it.
func (e *Entry) set(field string, value json.RawMessage, found *has) error {
	switch field {
	case toolName:
		if err := text(value, &e.ToolName); err != nil || strings.TrimSpace(e.ToolName) == "" {
			return refuse(field, "it is no text, or empty", "write the tool's name in double quotes")
		}
	case params:
		e.Params = value
	case result:
		e.Result = value
	case success:
		found.success = true
		if json.Unmarshal(value, &e.Success) != nil || e.Success == nil {
			return refuse(field, quote(value)+" is neither true nor false", "write true or false, or leave it out for true")
		}
	case summary:
		if json.Unmarshal(value, &e.Summary) != nil {
			return refuse(field, quote(value)+" is no text", "write it in double quotes, or null")
		}
	case timestamp:
		return e.setTime(value, found)
	case id:
		var s string
		var err error
		if err = text(value, &s); err == nil {
			e.ID, err = uuid.Parse(s)
		}
		if found.id = true; err != nil {
			return refuse(field, quote(value)+" is no UUID", "write one in double quotes, or leave it out")
		}
	default:
		e.Extra = append(e.Extra, Field{field, value})
	}
	return nil
}

func (e *Entry) setTime(value json.RawMessage, found *has) error {
	found.timestamp = true
	var s string
	if text(value, &s) == nil {
		if at, ok := parseTime(s); ok {
			e.Timestamp = at
			return nil
		}
	}
	return refuse(timestamp, quote(value)+" is no date and time", "write it as 2025-12-18T10:30:00Z, or leave it out for now")
}

var errNoText = errors.New("no text")

// text reads a JSON string; null is none.
func text(value json.RawMessage, s *string) error {
	if value[0] != '"' {
		return errNoText
	}
	return json.Unmarshal(value, s)
}

// timeLayouts are the forms of ISO 8601 that a timestamp may have, with or
// without a fraction of a second; without a zone it is UTC.
var timeLayouts = []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func quote(value []byte) string { return fmt.Sprintf("%.60s", value) }

// refuse returns a refusal with EINVAL.
func refuse(field, reason, fix string) *codec.Refusal {
	return &codec.Refusal{Errno: syscall.EINVAL, Path: file, Field: field, Reason: reason, Fix: fix}
}
