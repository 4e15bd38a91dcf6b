package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ctxfs/invocations"
	"ctxfs/operations"
)

// defaultInvocations is how many read_context returns (reference/5, Tool).
const defaultInvocations = 20

type readContext struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"How many of the newest calls that match (default 20, at most 1000)."`
	Offset int    `json:"offset,omitempty" jsonschema:"How many of the newest to skip, to read further back."`
	Tool   string `json:"tool,omitempty" jsonschema:"Only calls of this tool. Example: write_entry"`
	Failed bool   `json:"failed,omitempty" jsonschema:"Only calls that failed."`
	Since  string `json:"since,omitempty" jsonschema:"Not older than this: a date, a date and time, or an age. Examples: 2026-02-21, 2026-02-21T14:30:00Z, 90m, 12h, 7d"`
}

func (s *Server) addHistoryTools() {
	add(s, tool{name: "read_context", title: "Read the history of tool calls", effect: reads, repeats: true,
		about: `Read the newest tool calls that were recorded, of all agents, one JSON object a line, the newest last: tool_name, params, result, success, summary, timestamp, id. Every call of these tools is recorded, and what other programs record. Look here for what has been done already, so that it is not done again. Long values in it are shortened.`,
	}, s.readContext)
}

func (s *Server) readContext(ctx context.Context, a *operations.Actor, in readContext) (answer, error) {
	offset, limit, err := items{in.Offset, in.Limit}.bounds()
	if err != nil {
		return answer{}, err
	}
	if in.Limit == 0 {
		limit = defaultInvocations
	}
	f := invocations.Filter{Limit: offset + limit, Tool: in.Tool, Failed: in.Failed}
	if f.Since, err = operations.Moment(in.Since, s.o.Now(), false); err != nil {
		return answer{}, err
	}
	var lines []string
	err = a.EachInvocation(ctx, f, func(e invocations.Entry) error {
		line, err := shortLine(e)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	whole := len(lines) == offset+limit // there may be more before them
	lines = lines[:max(0, len(lines)-offset)]
	ans := answer{did: fmt.Sprintf("read %d invocations", len(lines))}
	kept := lines
	for size := 0; len(kept) > 0; kept = kept[1:] {
		if size = textSize(kept); size <= maxHistory {
			break
		}
	}
	ans.text = strings.Join(kept, "\n")
	switch {
	case len(kept) < len(lines) || whole:
		ans.note = fmt.Sprintf("[the newest %d after %d skipped; there may be older ones: call again with offset=%d]", len(kept), offset, offset+len(kept))
	case len(kept) == 0:
		ans.text = "no invocations are recorded that match"
	}
	return ans, nil
}

// maxHistory is the longest answer of read_context, in bytes.
const maxHistory = 60_000

func textSize(lines []string) (n int) {
	for _, l := range lines {
		n += len(l) + 1
	}
	return n
}

// shortLine is an invocation as one line, with long values shortened.
func shortLine(e invocations.Entry) (string, error) {
	e.Params, e.Result = shortened(e.Params), shortened(e.Result)
	e.Extra, e.Line = nil, nil
	e.Timestamp = e.Timestamp.Truncate(time.Millisecond)
	line, err := e.MarshalJSON()
	return string(line), err
}

const (
	// maxString is the longest text in a value of the history that stays
	// whole, in bytes.
	maxString = 1000
	// maxValue is the longest value of the history, in bytes.
	maxValue = 4000
)

// shortened is a JSON value with long texts cut; where it is too long even
// then, a text that holds its beginning. What is no JSON is taken for text.
func shortened(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxString {
		if len(raw) == 0 || !json.Valid(raw) {
			return mustJSON(string(raw))
		}
		return raw
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return mustJSON(cutText(string(raw)))
	}
	short := mustJSON(shortTexts(v))
	if len(short) > maxValue {
		return mustJSON(cutText(string(raw)))
	}
	return short
}

func shortTexts(v any) any {
	switch v := v.(type) {
	case string:
		return cutText(v)
	case []any:
		for i := range v {
			v[i] = shortTexts(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortTexts(v[k])
		}
	}
	return v
}

// cutText is the beginning of a long text.
func cutText(s string) string {
	if len(s) <= maxString+100 { // what was cut once stays as it is
		return s
	}
	head := strings.ToValidUTF8(s[:maxString], "")
	return fmt.Sprintf("%s… (%d bytes in all)", head, len(s))
}

// mustJSON is v as JSON, without escapes for HTML. v is of what JSON knows.
func mustJSON(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null") // it has been JSON before
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
