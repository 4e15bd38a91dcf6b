package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ctxfs/memories"
	"ctxfs/operations"
)

// ofMemory names a memory.
type ofMemory struct {
	VaultID  string `json:"vault_id,omitempty" jsonschema:"Accepted for clients that have vaults. A store is one vault, so it changes nothing; leave it out."`
	MemoryID string `json:"memory_id" jsonschema:"The name of the memory: letters, digits and . _ : - beginning with a letter or digit, at most 128. Example: project-atlas."`
}

type putContext struct {
	ofMemory
	Content string `json:"content" jsonschema:"The whole new context document, Markdown by convention. It replaces the old one. Example: '# Now\nMigrating the login to OAuth; step 2 of 5 is done.'"`
}

type getContext struct {
	ofMemory
	part
}

type addEntry struct {
	ofMemory
	RawEntry string         `json:"raw_entry" jsonschema:"What happened or was said, word for word or in your words. Example: 'The user asked for metric units everywhere.'"`
	Summary  string         `json:"summary,omitempty" jsonschema:"One line that says what the entry is about. Example: 'prefers metric units'"`
	Tags     map[string]any `json:"tags,omitempty" jsonschema:"Names and values to find it by. Example: {\"area\": \"preferences\"}"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"Anything else that belongs to it, as a JSON object."`
}

func (s *Server) addMemoryTools() {
	add(s, tool{name: "put_context", title: "Put a memory's context document", effect: removes, repeats: true,
		about: `Replace the context document of a memory: the one text that says where things stand, which the next conversation reads first. Read it with get_context before you change it; it is replaced as a whole. Answers "enqueued" at once; get_context returns the new text from then on, and await_consistency says when it is on disk.`,
	}, s.putContext)
	add(s, tool{name: "get_context", title: "Get a memory's context document", effect: reads, repeats: true,
		about: `Read the context document of a memory, as put_context left it. Do this at the beginning of a conversation that goes on with earlier work.`,
	}, s.getContext)
	add(s, tool{name: "add_entry", title: "Add an entry to a memory", effect: adds,
		about: `Add an entry to the log of a memory: something that happened and is worth keeping. Entries are never changed. Each one keeps the context document of its moment beside it. Answers "enqueued"; the entry is stored after everything that was put to this memory before.`,
	}, s.addEntry)
	add(s, tool{name: "await_consistency", title: "Wait until a memory is on disk", effect: reads, repeats: true,
		about: `Wait until every put_context and add_entry of this memory so far is on disk. Answers "consistent". Call it before you tell somebody that something is saved.`,
	}, s.awaitConsistency)
}

func (s *Server) putContext(ctx context.Context, a *operations.Actor, in putContext) (answer, error) {
	if err := memories.CheckMemory(in.MemoryID); err != nil {
		return answer{}, err
	}
	path := operations.ContextPath(in.MemoryID)
	if err := a.Write(ctx, path, strings.NewReader(in.Content), nil); err != nil {
		return answer{}, err
	}
	// Without a daemon the queue ends with this call.
	if a.Point == "" {
		if err := a.Sync(ctx, path); err != nil {
			return answer{}, err
		}
	}
	return answer{text: "enqueued", did: fmt.Sprintf("put the context of %s, %d bytes", in.MemoryID, len(in.Content))}, nil
}

func (s *Server) getContext(ctx context.Context, a *operations.Actor, in getContext) (answer, error) {
	if err := memories.CheckMemory(in.MemoryID); err != nil {
		return answer{}, err
	}
	ans, err := readPart(ctx, a, operations.ContextPath(in.MemoryID), in.part)
	if errors.Is(err, fs.ErrNotExist) {
		return ans, fmt.Errorf("the memory %s has no context document yet (put_context makes one)", in.MemoryID)
	}
	ans.did = "read the context of " + in.MemoryID
	return ans, err
}

func (s *Server) addEntry(ctx context.Context, a *operations.Actor, in addEntry) (answer, error) {
	if err := memories.CheckMemory(in.MemoryID); err != nil {
		return answer{}, err
	}
	e := operations.MemoryEntry{RawEntry: in.RawEntry, Summary: in.Summary, Tags: in.Tags, Metadata: in.Metadata}
	line, err := e.Line()
	if err != nil {
		return answer{}, err
	}
	if err := a.Append(ctx, operations.EntriesPath(in.MemoryID), line); err != nil {
		return answer{}, err
	}
	return answer{text: "enqueued", did: fmt.Sprintf("added the entry %s to %s", e.ID, in.MemoryID)}, nil
}

func (s *Server) awaitConsistency(ctx context.Context, a *operations.Actor, in ofMemory) (answer, error) {
	if err := memories.CheckMemory(in.MemoryID); err != nil {
		return answer{}, err
	}
	if err := a.Await(ctx, in.MemoryID); err != nil {
		return answer{}, err
	}
	return answer{text: "consistent", did: in.MemoryID + " is on disk"}, nil
}
