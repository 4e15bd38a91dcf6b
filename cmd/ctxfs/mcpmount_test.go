package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// mcpAcross is `mcp-across STORE MOUNTPOINT`: one server, while a mount of its
// store begins and ends.
func mcpAcross() {
	store, point := os.Args[1], os.Args[2]
	s, end := mcpConnect(context.Background(), store)
	s.call("save_context", `{"tool_name": "grep", "result": "before the mount"}`)
	s.call("set_variable", `{"key": "draft", "value": "mine", "scope": "session"}`)
	s.call("put_context", `{"memory_id": "m1", "content": "before"}`)
	run := func(args ...string) {
		out, err := exec.Command("ctxfs", args...).CombinedOutput()
		if err != nil {
			fmt.Printf("%v: %v: %s\n", args, err, out)
		}
	}
	run("mount", "--store", store, point)
	s.call("load_context", `{"number": 1}`)
	s.call("get_variable", `{"key": "draft"}`)
	s.call("get_context", `{"memory_id": "m1"}`)
	s.call("write_entry", `{"slug": "x", "type": "finding", "body": "# Mounted"}`)
	s.call("put_context", `{"memory_id": "m1", "content": "during"}`)
	run("umount", point)
	s.call("list_contexts", `{}`)
	s.call("get_variable", `{"key": "draft"}`)
	s.call("get_context", `{"memory_id": "m1"}`)
	end()
}
