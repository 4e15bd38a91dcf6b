package memories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
	"unicode/utf8"

	"ctxfs/codec"
)

// maxID is the longest id of an entry, in bytes: it travels in a header.
const maxID = 128

// Entry is one entry of a memory, as it was written: a JSON object on one
// line, byte for byte.
type Entry struct {
	Raw     []byte // without line end
	ID      string // its idempotency key; "" until one is given
	stamped bool   // it has a timestamp of its own
	empty   bool   // it has no field
}

const lineFix = `write one JSON object on one line, as in {"text":"what happened"}`

func badLine(field, fix, reason string, a ...any) *codec.Refusal {
	return &codec.Refusal{Errno: syscall.EINVAL, Field: field, Fix: fix, Reason: fmt.Sprintf(reason, a...)}
}

// ParseEntry checks a line, with or without its end: a JSON object in UTF-8,
// at most [MaxEntry] bytes, no field twice, without "context", and with an
// "id" of 1 to 128 visible ASCII characters if any. *codec.Refusal with
// EINVAL, without a path.
func ParseEntry(line []byte) (Entry, error) {
	raw := bytes.TrimSpace(line)
	switch {
	case len(raw) == 0:
		return Entry{}, badLine("", lineFix, "an empty line")
	case len(raw) > MaxEntry:
		return Entry{}, badLine("", "shorten it, or keep the text in a file and mention its path",
			"an entry has at most %d bytes, this one has %d", MaxEntry, len(raw))
	case bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0:
		return Entry{}, badLine("", lineFix, "an entry is one line")
	case !utf8.Valid(raw):
		return Entry{}, badLine("", "write UTF-8", "not UTF-8")
	case raw[0] != '{':
		return Entry{}, badLine("", lineFix, "not a JSON object")
	}
	e := Entry{Raw: raw}
	if err := e.fields(); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// fields walks over the top-level fields.
func (e *Entry) fields() error {
	seen := map[string]bool{}
	err := walk(e.Raw, func(key string, value json.RawMessage, _ int64) error {
		if seen[key] {
			return badLine(key, "write it once", "the field is there twice")
		}
		seen[key] = true
		switch key {
		case "context":
			return badLine(key, "give your field another name",
				"the field is where the snapshot of context.md is put")
		case "id":
			return e.setID(value)
		case "timestamp":
			e.stamped = true
		}
		return nil
	})
	e.empty = len(seen) == 0
	if refusal := (*codec.Refusal)(nil); err == nil || errors.As(err, &refusal) {
		return err
	}
	return badLine("", lineFix, "not JSON: %v", err)
}

func (e *Entry) setID(value json.RawMessage) error {
	var id string
	ok := json.Unmarshal(value, &id) == nil && len(id) >= 1 && len(id) <= maxID
	for i := range len(id) {
		ok = ok && id[i] > ' ' && id[i] < 0x7f
	}
	if !ok {
		return badLine("id", "leave it out, or write a string of 1 to 128 visible ASCII characters",
			"the id is the entry's idempotency key, and %.40s cannot be one", value)
	}
	e.ID = id
	return nil
}

// walk calls f for each field of the JSON object raw, with where the text
// before the field ends.
func walk(raw []byte, f func(key string, value json.RawMessage, before int64) error) error {
	if !json.Valid(raw) {
		var v any
		return json.Unmarshal(raw, &v) // says where
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		before := dec.InputOffset()
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := f(name, value, before); err != nil {
			return err
		}
	}
	return nil
}

// stamp is a time as entries carry it: UTC, milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// stored is the line that entries.jsonl gets, with its end: what was written,
// then the id and the timestamp where they were missing, then the snapshot.
func (e Entry) stored(at time.Time, given bool, snapshot []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(e.Raw) + len(snapshot) + 128)
	b.Write(bytes.TrimRight(e.Raw[:len(e.Raw)-1], " \t"))
	sep := ","
	if e.empty {
		sep = ""
	}
	if !given {
		fmt.Fprintf(&b, `%s"id":%s`, sep, jsonString(e.ID))
		sep = ","
	}
	if !e.stamped {
		fmt.Fprintf(&b, `%s"timestamp":"%s"`, sep, stamp(at))
		sep = ","
	}
	b.WriteString(sep + `"context":`)
	b.Write(snapshot)
	b.WriteString("}\n")
	return b.Bytes()
}

// split takes a stored line apart: the entry without its snapshot, the
// snapshot, the id.
func split(line []byte) (entry, snapshot json.RawMessage, id string, err error) {
	line = bytes.TrimSpace(line)
	err = walk(line, func(key string, value json.RawMessage, before int64) error {
		switch key {
		case "id":
			return json.Unmarshal(value, &id)
		case "context":
			snapshot = value
			entry = append(bytes.Clone(line[:before]), '}')
		}
		return nil
	})
	if err == nil && (entry == nil || id == "") {
		err = errors.New("no line of entries.jsonl: id or context is missing")
	}
	return entry, snapshot, id, err
}
