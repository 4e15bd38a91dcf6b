package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ctxfs/backing"
)

// snapshotOf is what context.json says of a context document: one line of
// JSON. Bytes that are not UTF-8 become U+FFFD in it.
func snapshotOf(content string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"activeContext":`)
	b.Write(jsonString(content))
	b.WriteByte('}')
	return b.Bytes()
}

// jsonString is s as JSON, with <, > and & as they are.
func jsonString(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(fmt.Sprintf("a string that is no JSON: %v", err)) // cannot be
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// parseSnapshot returns a snapshot's bytes on one line; ok is false where it
// is malformed: no JSON object with a string activeContext.
func parseSnapshot(raw []byte) (line []byte, ok bool) {
	var fields map[string]json.RawMessage // a struct would take ActiveContext too
	var active *string
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["activeContext"], &active) != nil || active == nil {
		return nil, false
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return bytes.TrimSpace(raw), true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// snapshot returns what entries of m carry: the bytes of context.json, which
// is first initialised where it is missing or malformed (reference/3,
// Interaction with add_entry). Only the worker calls it.
func (s *Memories) snapshot(ctx context.Context, m *memory) ([]byte, error) {
	key := s.key(m.name, snapshotFile)
	raw, err := s.readAll(ctx, key)
	if err != nil && !errors.Is(err, backing.ErrNotFound) {
		return nil, fmt.Errorf("read the snapshot of memory %s: %w", m.name, err)
	}
	if err == nil {
		if line, ok := parseSnapshot(raw); ok {
			return line, nil
		}
	}
	empty := snapshotOf("")
	err = s.replace(ctx, key, empty)
	if errors.Is(err, backing.ErrNotFound) {
		// Another program removed the directory.
		if err = s.makeDirs(ctx, m.name); err == nil {
			err = s.replace(ctx, key, empty)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("initialise the snapshot of memory %s: %w", m.name, err)
	}
	s.changed(m.name + "/" + snapshotFile)
	return empty, nil
}
