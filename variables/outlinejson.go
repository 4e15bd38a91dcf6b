package variables

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ctxfs/backing"
)

const (
	shapeDepth  = 5   // levels of JSON that a summary shows
	shapeFields = 40  // fields of one object
	sampleRunes = 60  // characters of a sample
	jsonTokens  = 2e6 // tokens of JSON that are looked at
)

// shape is what the values at one place of a JSON document have in common:
// all items of a list are at one place.
type shape struct {
	kinds  []string // in the order in which they came
	sample string   // the first scalar
	fields []string
	field  map[string]*shape
	more   int // fields beyond shapeFields
	count  int // values here
	items  *shape
	length int // of all lists here
}

// outlineJSON shows shape, counts and samples.
func outlineJSON(c backing.Content) ([]outlined, error) {
	dec := json.NewDecoder(head(c))
	dec.UseNumber()
	root := &shape{}
	w := &shaper{dec: dec, left: jsonTokens}
	err := w.value(root, 0)
	note := fmt.Sprintf("json, %d bytes", c.Size())
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, errEnough) || errors.Is(err, io.ErrUnexpectedEOF) && c.Size() > outlineRead:
		note += ", of which the beginning was read"
	case errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		note += ", which do not parse: " + err.Error()
	case err != nil:
		return nil, err
	}
	return root.lines([]outlined{{note, 100}}, "", "", 0), nil
}

var errEnough = errors.New("enough was read")

// shaper reads a document into shapes.
type shaper struct {
	dec  *json.Decoder
	left int // tokens
}

func (w *shaper) token() (json.Token, error) {
	if w.left--; w.left < 0 {
		return nil, errEnough
	}
	return w.dec.Token()
}

func (w *shaper) value(s *shape, depth int) error {
	t, err := w.token()
	if err != nil {
		return err
	}
	s.count++
	switch x := t.(type) {
	case json.Delim:
		if x == '{' {
			s.is("object")
			return w.object(s, depth)
		}
		s.is("list")
		return w.list(s, depth)
	case string:
		s.scalar("string", fmt.Sprintf("%q", clip(x)))
	case json.Number:
		s.scalar("number", clip(x.String()))
	case bool:
		s.scalar("boolean", fmt.Sprint(x))
	case nil:
		s.scalar("null", "null")
	}
	return nil
}

func (w *shaper) object(s *shape, depth int) error {
	for w.dec.More() {
		t, err := w.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if err := w.value(s.at(key, depth), depth+1); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

func (w *shaper) list(s *shape, depth int) error {
	if s.items == nil {
		s.items = &shape{}
	}
	for w.dec.More() {
		s.length++
		items := s.items
		if depth >= shapeDepth {
			items = &shape{}
		}
		if err := w.value(items, depth+1); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

// at returns the shape of a field; beyond the limits one that nobody sees.
func (s *shape) at(key string, depth int) *shape {
	if f := s.field[key]; f != nil {
		return f
	}
	if len(s.fields) >= shapeFields || depth >= shapeDepth {
		s.more++
		return &shape{}
	}
	if s.field == nil {
		s.field = map[string]*shape{}
	}
	f := &shape{}
	s.field[key] = f
	s.fields = append(s.fields, key)
	return f
}

func (s *shape) is(kind string) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
}

func (s *shape) scalar(kind, text string) {
	s.is(kind)
	if s.sample == "" || s.sample == "null" {
		s.sample = text
	}
}

// lines appends what the shape looks like.
func (s *shape) lines(all []outlined, indent, name string, depth int) []outlined {
	what := strings.Join(s.kinds, " or ")
	if name != "" {
		what = name + ": " + what
	}
	if len(s.fields) > 0 {
		what += fmt.Sprintf(" of %d fields", len(s.fields)+min(s.more, 1))
		if s.more > 0 {
			what += " and more"
		}
	}
	if s.items != nil {
		what += fmt.Sprintf(" of %d items", s.length)
	}
	if s.sample != "" {
		what += ", e.g. " + s.sample
	}
	if len(s.kinds) > 0 {
		all = append(all, outlined{indent + shown(what), 50 - depth})
	}
	for _, key := range s.fields {
		all = s.field[key].lines(all, indent+"  ", clip(key), depth+1)
	}
	if s.items != nil && s.items.count > 0 {
		all = s.items.lines(all, indent+"  ", "each", depth+1)
	}
	return all
}

func clip(s string) string {
	n := 0
	for i := range s {
		if n == sampleRunes {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
