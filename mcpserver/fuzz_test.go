package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzToolArguments calls tools with any arguments: each call is answered, and
// the server lives on.
func FuzzToolArguments(f *testing.F) {
	for _, seed := range []struct{ tool, args string }{
		{"put_context", `{"memory_id": "m", "content": "x"}`},
		{"add_entry", `{"memory_id": "m", "raw_entry": "x", "tags": {"a": [null]}}`},
		{"get_context", `{"memory_id": "m", "offset": 9223372036854775807, "limit": -1}`},
		{"save_context", `{"tool_name": "", "result": {"a": "\u0000"}, "session_id": "../x"}`},
		{"load_context", `{"filepath": "../../etc/passwd", "number": 9e99}`},
		{"list_contexts", `{"session_id": "*", "offset": -5}`},
		{"set_variable", `{"key": "k/.ref/k", "value": [[[]]], "scope": "agent:", "type": "stream"}`},
		{"resolve", `{"ref": {"id": "", "key": "../k", "scope": "global"}}`},
		{"summarize", `{"key": "global/k", "max_tokens": 1}`},
		{"write_entry", `{"slug": "x", "type": "finding", "body": "---\n", "agent": "vars", "tags": ["\n"], "links": ["../.."]}`},
		{"update_entry", `{"path": "alice/20260222T120000-x.md", "append": "## Changelog", "summary": "a\nb", "add_links": [""]}`},
		{"supersede_entry", `{"old_path": "", "new_path": "a/b/c/d"}`},
		{"search_entries", `{"regex": "(", "since": "99999999d", "offset": 2147483647}`},
		{"read_context", `{"limit": 1000, "since": "1d"}`},
		{"list_variables", `null`},
		{"", `[]`},
	} {
		f.Add(seed.tool, []byte(seed.args))
	}
	w := newWorld(f)
	w.must("write_entry", `{"slug": "x", "type": "finding", "body": "text"}`)
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		if !json.Valid(args) {
			t.Skip("the SDK refuses to send it")
		}
		res, err := w.client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err == nil && (len(res.Content) == 0 || res.IsError && res.Content[0].(*mcp.TextContent).Text == "") {
			t.Errorf("%s %q is answered with nothing", tool, args)
		}
		if err := w.client.Ping(t.Context(), nil); err != nil {
			t.Fatalf("after %s %q: %v", tool, args, err)
		}
	})
}
