package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpSuite is `mcp-suite STORE`: it calls every tool of `ctxfs mcp` over stdio,
// rightly and wrongly, and prints the answers without what differs from run to
// run. mcp.txt compares them, mounted and not, with what they should be.
func mcpSuite() {
	s, end := mcpConnect(context.Background(), os.Args[1])
	s.memories()
	s.results()
	s.variables()
	s.entries()
	s.resources()
	end()
}

// mcpConnect starts a server on a store; end ends it and prints how it went.
func mcpConnect(ctx context.Context, store string) (s mcpTranscript, end func()) {
	server := exec.Command("ctxfs", "mcp", "--store", store)
	server.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "Suite (test)", Version: "1"}, nil)
	// The default is to kill a server that takes five seconds to end.
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server, TerminateDuration: commandLimit}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailure)
	}
	return mcpTranscript{ctx, session}, func() {
		if err := session.Close(); err != nil {
			fmt.Println("close:", err)
		}
		fmt.Println("the server ended with", server.ProcessState)
	}
}

type mcpTranscript struct {
	ctx context.Context
	c   *mcp.ClientSession
}

// varying is what differs from run to run, and what stands for it.
var varying = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`"(id|timestamp|created|modified)":("[^"]*"|\d+)`), `"$1":…`},
	{regexp.MustCompile(`\d{8}T\d{6}`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`mcp-TIME-[a-z0-9]+`), "SESSION"},
	{regexp.MustCompile(`-[0-9a-f]{12}\.json`), "-HASH.json"},
	// Times of results have fractions of seconds, of one to nine digits.
	{regexp.MustCompile(`(\bof |"sizeBytes":)\d{3}\b`), "${1}SIZE"},
}

func steady(text string) string {
	for _, v := range varying {
		text = v.what.ReplaceAllString(text, v.as)
	}
	return text
}

// call prints the answer of a tool, and returns its text as it is.
func (s mcpTranscript) call(tool, arguments string) string {
	verdict, texts := s.ask(tool, arguments)
	fmt.Println(steady(fmt.Sprintf("%s %s → %s", tool, arguments, verdict+strings.Join(texts, " ¶ "))))
	return texts[0]
}

// find asks until the index has come so far that the answer holds want.
func (s mcpTranscript) find(arguments, want string) {
	var texts []string
	if !poll(commandLimit, func() bool {
		_, texts = s.ask("search_entries", arguments)
		return strings.Contains(texts[0], want)
	}) {
		fmt.Println("it was never found:", want)
	}
	fmt.Println(steady("search_entries " + arguments + " → " + texts[0]))
}

func (s mcpTranscript) ask(tool, arguments string) (verdict string, texts []string) {
	res, err := s.c.CallTool(s.ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "protocol error ", []string{err.Error()}
	}
	if res.IsError {
		verdict = "error "
	}
	for _, c := range res.Content {
		texts = append(texts, c.(*mcp.TextContent).Text)
	}
	return verdict, texts
}

func (s mcpTranscript) memories() {
	s.call("get_context", `{"memory_id": "m1"}`)
	s.call("await_consistency", `{"memory_id": "m1"}`)
	s.call("put_context", `{"memory_id": "m1", "content": "# Now\nworking äöü"}`)
	s.call("put_context", `{"vault_id": "v", "memory_id": "m1", "content": "# Now\nworking äöü!"}`)
	s.call("get_context", `{"memory_id": "m1"}`)
	s.call("get_context", `{"memory_id": "m1", "limit": 15}`)
	s.call("get_context", `{"memory_id": "m1", "offset": 14}`)
	s.call("get_context", `{"memory_id": "m1", "offset": 99}`)
	s.call("add_entry", `{"memory_id": "m1", "raw_entry": "it rained", "summary": "rain", "tags": {"topic": "weather"}}`)
	s.call("add_entry", `{"memory_id": "m1", "raw_entry": ""}`)
	s.call("await_consistency", `{"memory_id": "m1"}`)
	s.call("put_context", `{"memory_id": "../m1", "content": "x"}`)
	s.call("put_context", `{"memory_id": "m1"}`)
	s.call("put_context", `{"memory_id": 7, "content": "x"}`)
}

func (s mcpTranscript) results() {
	s.call("list_contexts", `{}`)
	s.call("save_context", `{"tool_name": "grep", "args": {"pattern": "TODO"}, "result": {"matches": [{"line": 7}, {"line": 9}]}, "query": "where?"}`)
	s.call("save_context", `{"tool_name": "read_file", "args": {"path": "a.txt"}, "result": "some <text>"}`)
	s.call("save_context", `{"tool_name": "read_file", "args": {"path": "a.txt"}, "result": "some <text>", "session_id": "other"}`)
	s.call("list_contexts", `{}`)
	s.call("list_contexts", `{"session_id": "*", "offset": 1, "limit": 1}`)
	s.call("load_context", `{"number": 2}`)
	s.call("load_context", `{"number": 1, "limit": 20}`)
	s.call("load_context", `{"number": 3}`)
	s.call("load_context", `{"filepath": "results/none-a-1.json"}`)
	s.call("load_context", `{"filepath": "results/../vars/global/x"}`)
	s.call("load_context", `{}`)
	s.call("save_context", `{"tool_name": "a/b", "result": 1}`)
	s.call("save_context", `{"tool_name": "a"}`)
	s.call("clear_contexts", `{"session_id": "other"}`)
	s.call("clear_contexts", `{}`)
	s.call("list_contexts", `{}`)
}

func (s mcpTranscript) variables() {
	s.call("list_variables", `{}`)
	s.call("get_variable", `{"key": "k"}`)
	s.call("set_variable", `{"key": "k", "value": "hello world"}`)
	s.call("set_variable", `{"key": "plan.json", "value": {"steps": [1, 2, 3]}, "scope": "agent"}`)
	s.call("set_variable", `{"key": "draft", "value": "mine", "scope": "session"}`)
	s.call("set_variable", `{"key": "k2", "value": "[1]", "type": "json", "scope": "agent:bob"}`)
	s.call("get_variable", `{"key": "k"}`)
	s.call("get_variable", `{"key": "k", "offset": 6, "limit": 2}`)
	s.call("get_variable", `{"key": "plan.json"}`)
	s.call("get_variable", `{"key": "draft"}`)
	s.call("get_variable", `{"key": "draft", "scope": "global"}`)
	ref := s.call("ref", `{"key": "k"}`)
	s.resolve(ref)
	s.call("summarize", `{"key": "plan.json", "max_tokens": 40}`)
	s.call("summarize", `{"key": "plan.json", "max_tokens": -1}`)
	s.call("list_variables", `{"scope": "global"}`)
	s.call("list_variables", `{"limit": 1}`)
	s.call("set_variable", `{"key": "k", "value": "another"}`)
	s.resolve(ref)
	s.call("resolve", `{"ref": "no ref"}`)
	s.call("set_variable", `{"key": "bad.json", "value": "{"}`)
	s.call("set_variable", `{"key": ".hidden", "value": "x"}`)
	s.call("set_variable", `{"key": "k", "value": "x", "scope": "nowhere"}`)
	s.call("set_variable", `{"key": "k", "value": "x", "type": "poem"}`)
	s.call("set_variable", `{"key": "k"}`)
	s.call("delete_variable", `{"key": "k"}`)
	s.call("delete_variable", `{"key": "k"}`)
	s.call("delete_variable", `{"key": "draft", "scope": "session"}`)
	s.resolve(ref)
	s.call("ref", `{"key": "k"}`)
	s.call("summarize", `{"key": "k"}`)
}

// resolve calls the tool with a ref that differs from run to run.
func (s mcpTranscript) resolve(ref string) { s.call("resolve", `{"ref": `+ref+`}`) }

func (s mcpTranscript) entries() {
	path := s.call("write_entry", `{"slug": "first", "type": "finding", "tags": ["auth", "a b"], "body": "# First\nold words"}`)
	s.call("read_entry", `{"path": "`+path+`"}`)
	s.call("update_entry", `{"path": "`+path+`", "old_text": "old words", "new_text": "new words", "version": "1"}`)
	s.call("update_entry", `{"path": "`+path+`", "append": "more", "summary": "more was found"}`)
	s.call("update_entry", `{"path": "`+path+`", "append": "lost", "version": "1"}`)
	s.call("update_entry", `{"path": "`+path+`", "old_text": "nowhere", "new_text": "x"}`)
	s.call("update_entry", `{"path": "`+path+`", "old_text": "r", "new_text": "x"}`)
	s.call("update_entry", `{"path": "`+path+`", "append": "x", "body": "y"}`)
	s.call("update_entry", `{"path": "`+path+`", "content": "no frontmatter"}`)
	next := s.call("write_entry", `{"slug": "second", "type": "decision", "body": "# Second", "agent": "helper", "session_id": "s9", "links": ["`+path+`"]}`)
	s.call("supersede_entry", `{"old_path": "`+path+`", "new_path": "`+next+`"}`)
	s.call("read_entry", `{"path": "`+path+`"}`)
	s.call("read_entry", `{"path": "`+next+`", "limit": 20}`)
	s.call("update_entry", `{"path": "`+next+`", "body": "# Second\n\nrewritten", "add_links": ["bob/20260101T000000-x.md"]}`)
	s.call("read_entry", `{"path": "`+next+`"}`)
	s.call("supersede_entry", `{"old_path": "`+path+`", "new_path": "`+path+`"}`)
	s.call("supersede_entry", `{"old_path": "bob/20260101T000000-x.md", "new_path": "`+next+`"}`)
	s.call("write_entry", `{"slug": "bad slug", "type": "finding", "body": "x"}`)
	s.call("write_entry", `{"slug": "x", "type": "poem", "body": "x"}`)
	s.call("write_entry", `{"slug": "x", "type": "finding", "body": "x", "supersedes": ["bob/20260101T000000-x.md"]}`)
	s.call("read_entry", `{"path": "vars/global/x"}`)
	s.call("read_entry", `{"path": "bob/20260101T000000-x.md"}`)
	s.find(`{"query": "words"}`, "new words")
	s.find(`{"regex": "^rew.*n$", "agent": "helper", "since": "2020-01-01"}`, "rewritten")
	s.find(`{"superseded": "only", "tags": ["auth"]}`, "(superseded)")
	s.call("search_entries", `{"query": "nowhere"}`)
	s.call("search_entries", `{"query": "a", "regex": "b"}`)
	s.call("search_entries", `{"regex": "("}`)
	s.call("search_entries", `{"since": "yesterday"}`)
	s.call("read_context", `{"limit": 2}`)
	s.call("read_context", `{"tool": "write_entry", "failed": true, "offset": 1, "limit": 1}`)
	s.call("read_context", `{"since": "someday"}`)
	s.call("read_context", `{"limit": -1}`)
	s.call("no_such_tool", `{}`)
}

func (s mcpTranscript) resources() {
	for r, err := range s.c.Resources(s.ctx, nil) {
		if err != nil {
			fmt.Println("resources:", err)
			return
		}
		fmt.Println(steady(fmt.Sprintf("resource %s %s %d", r.URI, r.MIMEType, r.Size)))
		read, err := s.c.ReadResource(s.ctx, &mcp.ReadResourceParams{URI: r.URI})
		if err != nil {
			fmt.Println("read:", err)
			continue
		}
		first, _, _ := strings.Cut(read.Contents[0].Text, "\n")
		fmt.Println(len(read.Contents[0].Text) == int(r.Size), first)
	}
	for _, uri := range []string{"ctxfs://entries/bob/20260101T000000-x.md", "ctxfs://entries/../x", "file:///etc/passwd"} {
		_, err := s.c.ReadResource(s.ctx, &mcp.ReadResourceParams{URI: uri})
		fmt.Println("read", uri, "→", err)
	}
}
