package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"ctxfs/memories"
)

// MemoriesDir is where the memories lie in the store's files.
const MemoriesDir = "memories"

// ContextPath is the file of a memory's context document.
func ContextPath(memory string) string { return MemoriesDir + "/" + memory + "/context.md" }

// EntriesPath is the file of a memory's entries.
func EntriesPath(memory string) string { return MemoriesDir + "/" + memory + "/entries.jsonl" }

// MemoryEntry is an entry of a memory, in the fields of reference/3's backend.
type MemoryEntry struct {
	ID       string         `json:"id"` // the idempotency key; "" is a new UUID
	RawEntry string         `json:"rawEntry"`
	Summary  string         `json:"summary,omitempty"`
	Tags     map[string]any `json:"tags,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Line is the entry as a line of entries.jsonl. It gives the entry its ID.
func (e *MemoryEntry) Line() ([]byte, error) {
	if e.RawEntry == "" {
		return nil, badArgument(errors.New("an empty entry says nothing"))
	}
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	_, err := memories.ParseEntry(b.Bytes())
	return b.Bytes(), err
}

// Await returns when everything that was put to a memory before is on disk.
func (a *Actor) Await(ctx context.Context, memory string) error {
	err := a.Sync(ctx, ContextPath(memory))
	if errors.Is(err, fs.ErrNotExist) {
		err = a.Sync(ctx, EntriesPath(memory))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no memory %s, or nothing in it", memory)
	}
	return err
}
