package results

const (
	shapeFields = 64  // members of an object that are looked at
	keepText    = 200 // bytes of a string that are kept
)

// shape is what is kept of a JSON value that was read.
type shape struct {
	kind    byte   // its first byte: { [ " 0 t f n; 0 is no value
	size    int64  // bytes, as written
	count   int    // elements, members, or lines of a string
	text    string // the beginning of a string, a number, a literal
	length  int64  // bytes of a string, unescaped
	cut     bool   // text is only the beginning
	members []member
}

type member struct {
	name  string
	value shape
}

// member returns the value of a member of an object, kind 0 where there is
// none. Of several with one name it is the last, as most parsers say.
func (v *shape) member(name string) shape {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return shape{}
}

// value reads a value. Members of objects are looked at down to a depth of
// detail, texts are kept to keep bytes.
func (s *scanner) value(detail, keep int) (v shape, err error) {
	c, err := s.token()
	if err != nil {
		return v, err
	}
	start := s.offset()
	v.kind = c
	switch {
	case c == '{':
		err = s.object(&v, detail)
	case c == '[':
		err = s.array(&v, detail)
	case c == '"':
		var t text
		t, err = s.string(keep)
		v.text, v.length, v.count, v.cut = string(t.head), t.size, t.lines(), t.cut()
	case c == '-' || c >= '0' && c <= '9':
		v.kind = '0'
		v.text, err = s.number()
	default:
		v.text, err = s.literal()
	}
	v.size = s.offset() - start
	return v, err
}

// enter goes one level deeper.
func (s *scanner) enter() error {
	s.pos++
	if s.depth++; s.depth > MaxDepth {
		return s.wrong("arrays and objects nest deeper than %d", MaxDepth)
	}
	return nil
}

// more reads what stands before the next element of an array or object, or
// the end; first says that there was none yet.
func (s *scanner) more(end byte, first bool) (bool, error) {
	c, err := s.token()
	if err != nil {
		return false, err
	}
	switch {
	case c == end:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.wrong("%q where ',' or %q is due", rune(c), rune(end))
	}
	s.pos++
	return true, nil
}

func (s *scanner) array(v *shape, detail int) error {
	if err := s.enter(); err != nil {
		return err
	}
	for ; ; v.count++ {
		more, err := s.more(']', v.count == 0)
		if err != nil || !more {
			return err
		}
		if _, err := s.value(0, 0); err != nil {
			return err
		}
	}
}

func (s *scanner) object(v *shape, detail int) error {
	if err := s.enter(); err != nil {
		return err
	}
	for ; ; v.count++ {
		looked := detail > 0 && len(v.members) < shapeFields
		keep := 0
		if looked {
			keep = keepText
		}
		name, more, err := s.name(v.count == 0, keep)
		if err != nil || !more {
			return err
		}
		value, err := s.value(detail-1, keep)
		if err != nil {
			return err
		}
		if looked {
			v.members = append(v.members, member{name, value})
		}
	}
}

// name reads the name of an object's next member, with the colon; more is
// false at the object's end.
func (s *scanner) name(first bool, keep int) (name string, more bool, err error) {
	more, err = s.more('}', first)
	if err != nil || !more {
		return "", more, err
	}
	c, err := s.token()
	if err != nil {
		return "", false, err
	}
	if c != '"' {
		return "", false, s.wrong("%q where the name of a member is due, in double quotes", rune(c))
	}
	t, err := s.string(keep)
	if err != nil {
		return "", false, err
	}
	return string(t.head), true, s.expect(':', "after the name of a member")
}
