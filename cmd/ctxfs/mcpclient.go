package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ctxfs/codec"
	"ctxfs/room"
)

// mcpBegun names the descriptor that holds what was read of standard input
// before ctxfs began anew under the client's name.
const mcpBegun = "CTXFS_MCP_BEGUN"

// mcpUnknown is the agent where the client does not say its name.
const mcpUnknown = "mcp"

// mcpClient returns what the client sends, and who it is. A daemon takes names
// from the environment that a process was started with; so where the name is
// only in the client's first message, ctxfs begins anew with it.
func (f *reachFlags) mcpClient(stdin io.Reader) (io.Reader, room.Caller, error) {
	caller := f.caller(os.Getenv)
	if err := beNamed(caller); err != nil {
		return nil, caller, err
	}
	if begun := os.Getenv(mcpBegun); begun != "" {
		fd, err := strconv.Atoi(begun)
		if err != nil {
			return nil, caller, fmt.Errorf("%s: %w", mcpBegun, err)
		}
		return io.MultiReader(os.NewFile(uintptr(fd), mcpBegun), stdin), caller, os.Unsetenv(mcpBegun)
	}
	if caller.Agent != "" {
		return stdin, caller, nil
	}
	first, err := firstMessage(stdin)
	if err != nil {
		return nil, caller, fmt.Errorf("read the client's first message: %w", err)
	}
	return nil, caller, beginAs(clientName(first), first)
}

// beginAs starts ctxfs anew as agent, with begun before the rest of standard
// input.
func beginAs(agent string, begun []byte) error {
	fd, err := unix.MemfdCreate("ctxfs-mcp", 0)
	if err != nil {
		return fmt.Errorf("keep the client's first message: %w", err)
	}
	kept := os.NewFile(uintptr(fd), "ctxfs-mcp")
	_, err = kept.Write(begun)
	if err == nil {
		_, err = kept.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Setenv("CTXFS_AGENT", agent), os.Setenv(mcpBegun, strconv.Itoa(fd))); err != nil {
		return fmt.Errorf("act as %s: %w", agent, err)
	}
	return fmt.Errorf("act as %s: %w", agent, syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// firstMessage reads a line, and nothing behind it; the end of the input ends
// the line too.
func firstMessage(r io.Reader) (line []byte, err error) {
	one := make([]byte, 1)
	for len(line) < 1<<20 {
		n, err := r.Read(one)
		line = append(line, one[:n]...)
		if errors.Is(err, io.EOF) || n == 1 && one[0] == '\n' {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return line, nil
}

// clientName is the name of the client that sends this message, as the name of
// an agent. It is in initialize, and since the protocol of 2026-07-28 in the
// _meta of every request.
func clientName(message []byte) string {
	type named struct {
		Name string `json:"name"`
	}
	var m struct {
		Params struct {
			ClientInfo named `json:"clientInfo"`
			Meta       struct {
				ClientInfo named `json:"io.modelcontextprotocol/clientInfo"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil {
		return mcpUnknown
	}
	if m.Params.ClientInfo.Name == "" {
		m.Params.ClientInfo = m.Params.Meta.ClientInfo
	}
	return agentName(m.Params.ClientInfo.Name)
}

// notInNames is what cannot stand in the name of an agent.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._:-]+`)

// agentName makes the name of an agent of any text.
func agentName(s string) string {
	name := strings.Trim(notInNames.ReplaceAllString(s, "-"), "._:-")
	name = name[:min(len(name), 64)]
	switch {
	case codec.Reserved[name]:
		return mcpUnknown + "-" + name
	case codec.CheckDirName(name) != nil:
		return mcpUnknown
	}
	return name
}
