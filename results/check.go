package results

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ctxfs/codec"
)

// ContextPointer says where a result is and what of, without its content
// (reference/2, Context Pointer).
type ContextPointer struct {
	Filepath  string `json:"filepath"`
	ToolName  string `json:"toolName"`
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970, UTC
	SizeBytes int64  `json:"sizeBytes"` // of the file
	QueryID   string `json:"queryId,omitempty"`
}

// Listed is a pointer with what else is known without loading the content.
type Listed struct {
	ContextPointer
	SessionID   string `json:"sessionId"`
	TaskID      string `json:"taskId,omitempty"`
	Description string `json:"description"` // one line, see [Describe]
}

// maxField is the longest text of a field other than args and result, in
// bytes.
const maxField = 1024

// fieldNames are those of a result's file; the last is optional.
var fieldNames = []string{"toolName", "args", "result", "timestamp", "queryId", "sessionId", "taskId"}

// Check reads the file of a result from r, in constant memory, and says what
// it holds; name is the file's, without a directory. It returns a
// *codec.Refusal with EINVAL where the content is no result or the name does
// not agree with it, and other errors where r cannot be read.
func Check(name string, r io.Reader) (Listed, error) {
	l, err := readFields(r)
	if err == nil {
		err = agree(name, l.SessionID, l.ToolName)
	}
	if err != nil {
		return Listed{}, withPath(err, name)
	}
	l.Filepath = path(name)
	return l, nil
}

func readFields(r io.Reader) (Listed, error) {
	s := newScanner(r)
	found := map[string]shape{}
	if err := s.fields(found); err != nil {
		return Listed{}, told(err)
	}
	var l Listed
	texts := []struct {
		name     string
		into     *string
		optional bool // it may be missing or null
		empty    bool // it may be ""
	}{{"toolName", &l.ToolName, false, false}, {"sessionId", &l.SessionID, false, false},
		{"queryId", &l.QueryID, false, true}, {"taskId", &l.TaskID, true, true}}
	for _, t := range texts {
		v := found[t.name]
		if t.optional && (v.kind == 0 || v.kind == 'n') {
			continue
		}
		if err := checkText(v, t.name, t.empty); err != nil {
			return Listed{}, err
		}
		*t.into = v.text
	}
	at, err := checkRest(found)
	if err != nil {
		return Listed{}, err
	}
	l.Timestamp, l.SizeBytes = at.UnixMilli(), s.offset()
	l.Description = describe(found["args"], found["result"])
	return l, nil
}

// fields reads the one object that a result is.
func (s *scanner) fields(found map[string]shape) error {
	c, err := s.token()
	if err != nil {
		return err
	}
	if c != '{' {
		return s.wrong("a result is one JSON object; this begins with %q", rune(c))
	}
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		name, more, err := s.name(first, maxField)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		ours := slices.Contains(fieldNames, name)
		if _, twice := found[name]; twice && ours {
			return s.wrong("%q stands there twice", name)
		}
		detail, keep := 0, 0
		switch {
		case name == "args" || name == "result":
			detail, keep = 1, keepText
		case ours:
			keep = maxField
		}
		v, err := s.value(detail, keep)
		if err != nil {
			return err
		}
		if ours {
			found[name] = v
		}
	}
	if c, err := s.token(); err == nil {
		return s.wrong("%q after the end of the result", rune(c))
	}
	return s.fault
}

// told makes a refusal of what is wrong with the JSON.
func told(err error) error {
	var wrong *syntaxError
	if !errors.As(err, &wrong) {
		return err
	}
	return refuse("", wrong.line, "", wrong.what,
		"write one JSON object with "+strings.Join(fieldNames[:6], ", "))
}

func checkText(v shape, field string, empty bool) error {
	switch {
	case v.kind == 0:
		return refuse("", 0, field, "it is missing", `add "`+field+`": "..."`)
	case v.kind != '"':
		return refuse("", 0, field, "it is no string", "put it in double quotes")
	case v.text == "" && !empty:
		return refuse("", 0, field, "it is empty", "say which it is")
	case v.cut:
		return refuse("", 0, field, fmt.Sprintf("it is %d bytes long", v.length), fmt.Sprintf("use at most %d bytes", maxField))
	}
	return nil
}

// checkRest checks args, result and timestamp.
func checkRest(found map[string]shape) (time.Time, error) {
	args, result := found["args"], found["result"]
	switch {
	case args.kind == 0:
		return time.Time{}, refuse("", 0, "args", "it is missing", `add the tool's arguments as an object, "args": {}`)
	case args.kind != '{':
		return time.Time{}, refuse("", 0, "args", "it is no object", `write the arguments by name, as in "args": {"query": "TODO"}`)
	case result.kind == 0:
		return time.Time{}, refuse("", 0, "result", "it is missing", `add what the tool returned, "result": null where that is nothing`)
	}
	stamp := found["timestamp"]
	if err := checkText(stamp, "timestamp", false); err != nil {
		return time.Time{}, err
	}
	at, ok := parseTime(stamp.text)
	if !ok {
		return time.Time{}, refuse("", 0, "timestamp", fmt.Sprintf("%.60q is no date and time", stamp.text),
			"write it as 2024-01-15T10:30:00Z")
	}
	return at, nil
}

// withPath fills the path of the result into a refusal that has none.
func withPath(err error, name string) error {
	var r *codec.Refusal
	if !errors.As(err, &r) || r.Path != "" {
		return err
	}
	filled := *r
	filled.Path = path(name)
	return &filled
}
