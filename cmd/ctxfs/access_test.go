package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"ctxfs/access"
	"ctxfs/operations"
)

// accessSuite is `access-suite STORE`: it does every operation of
// access.Files on the store, mounted or not, and prints what comes of it.
// Both ways must print the same, which access.txt compares.
func accessSuite() {
	f := &reachFlags{store: os.Args[1], agent: "alice", session: "s1"}
	r, err := f.open(os.Stderr, access.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailure)
	}
	s := transcript{context.Background(), r}
	s.variables()
	s.others()
	s.refusals()
	if err := r.Close(); err != nil {
		fmt.Println("close:", err)
	}
}

type transcript struct {
	ctx context.Context
	f   access.Files
}

// said prints what was done, and the error.
func (s transcript) said(err error, what ...any) {
	fmt.Println(append(what, "→", err)...)
}

func (s transcript) write(path, content string, attrs map[string]string) {
	s.said(s.f.Write(s.ctx, path, strings.NewReader(content), attrs), "write", path)
}

func (s transcript) show(path string) {
	c, err := s.f.Open(s.ctx, path)
	if err != nil {
		s.said(err, "open", path)
		return
	}
	text, err := io.ReadAll(c)
	part := make([]byte, 3)
	n, _ := c.ReadAt(part, 2)
	fmt.Printf("%s: %q, a part %q, size %d\n", path, text, part[:n], c.Size())
	s.said(err, "read", path)
	s.said(c.Close(), "close", path)
}

func (s transcript) list(dir string) {
	infos, err := s.f.List(s.ctx, dir)
	for _, i := range infos {
		size := i.Size
		if i.Dir {
			size = 0 // of a directory it is nobody's
		}
		fmt.Println(" ", i.Name, i.Dir, size, i.ModTime.IsZero())
	}
	s.said(err, "list", dir)
}

func (s transcript) stat(path string) {
	i, err := s.f.Stat(s.ctx, path)
	s.said(err, "stat", path, i.Name, i.Dir, i.Size)
}

func (s transcript) xattr(path, attr string) {
	value, err := s.f.GetXattr(s.ctx, path, attr)
	s.said(err, "getxattr", path, attr, string(value))
}

func (s transcript) variables() {
	const k = "vars/global/k"
	s.write(k, "hello", nil)
	s.show(k)
	s.said(s.f.Append(s.ctx, k, []byte(" world")), "append", k)
	s.show(k)
	s.stat(k)
	s.said(s.f.SetXattr(s.ctx, k, "user.ctxfs.type", []byte("memory")), "setxattr", k)
	s.xattr(k, "user.ctxfs.type")
	s.xattr(k, "user.ctxfs.nothing")
	s.xattr("vars/global/none", "user.ctxfs.type")
	s.write("vars/agent:a/typed", "{}", map[string]string{"user.ctxfs.type": "json"})
	s.xattr("vars/agent:a/typed", "user.ctxfs.type")
	s.said(s.f.Append(s.ctx, "vars/global/log", []byte("1\n")), "append")
	s.said(s.f.Append(s.ctx, "vars/global/log", []byte("2\n")), "append")
	s.show("vars/global/log")
	s.xattr("vars/global/log", "user.ctxfs.type")
	s.said(s.f.Rename(s.ctx, "vars/agent:a/typed", "vars/global/moved"), "rename")
	s.show("vars/global/moved")
	s.show("vars/agent:a/typed")
	s.list("vars/global")
	s.list("vars")
	s.write("vars/self/mine", "mine", nil)
	s.show("vars/self/mine")
	s.show("vars/agent:alice/mine")
	s.said(s.f.Sync(s.ctx, k), "sync", k)
	s.said(s.f.Remove(s.ctx, k), "remove", k)
	s.said(s.f.Remove(s.ctx, k), "remove", k)
	s.stat(k)
}

func (s transcript) others() {
	s.write("memories/m1/context.md", "text\n", nil)
	s.show("memories/m1/context.md")
	s.said(s.f.Append(s.ctx, "memories/m1/entries.jsonl", []byte(`{"text":"a","id":"1","timestamp":"t"}`+"\n")), "append")
	s.said(s.f.Sync(s.ctx, "memories/m1/context.md"), "sync")
	s.show("memories/m1/entries.jsonl")
	s.list("memories/m1")
	s.list("memories/m2")
	line := `{"tool_name":"a","params":1,"result":2,"success":true,"timestamp":"2026-02-21T15:10:00Z","id":"3242fef4-30f1-42fd-a85f-684f451d4f9d"}` + "\n"
	s.said(s.f.Append(s.ctx, operations.HistoryFile, []byte(line)), "append")
	s.show(operations.HistoryFile)
	const entry = "alice/s1/20260221T143022-x.md"
	s.write(entry, "---\ntype: finding\n---\nbody\n", nil)
	s.show(entry)
	s.write("results/s1-a-1.json", `{"toolName":"a","args":{},"result":1,"timestamp":"2026-02-21T15:10:00Z","queryId":"","sessionId":"s1"}`, nil)
	s.show("results/.list")
	s.said(s.f.Remove(s.ctx, "results/s1-a-1.json"), "remove")
}

func (s transcript) refusals() {
	s.write("vars/global/x.json", "[1,\n2 3]", nil)
	s.show("vars/global/x.json")
	s.show("vars/global/x.json.rej")
	s.write("vars/global/.hidden", "x", nil)
	s.write("results/s1-a-1.json", "{}", nil)
	s.said(s.f.Append(s.ctx, operations.HistoryFile, []byte("no JSON\n")), "append")
	s.write(operations.HistoryFile, "", nil)
	s.said(s.f.Remove(s.ctx, operations.HistoryFile), "remove")
	s.said(s.f.Append(s.ctx, "memories/m1/entries.jsonl", []byte("{\"context\":1}\n")), "append")
	s.write("alice/20260221T143022-y.md", "no frontmatter\n", nil)
	s.said(s.f.Remove(s.ctx, "alice/s1/20260221T143022-x.md"), "remove")
	s.said(s.f.Rename(s.ctx, "alice/s1/20260221T143022-x.md", "vars/global/x"), "rename")
	s.said(s.f.SetXattr(s.ctx, "vars/global/log", "user.ctxfs.type", []byte("poem")), "setxattr")
	for _, path := range []string{"/etc/passwd", "../x", "vars//k", "a/./b"} {
		s.show(path)
	}
	s.show("vars/global")
	s.said(s.f.Remove(s.ctx, "vars/global"), "remove")
}
