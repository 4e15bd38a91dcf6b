package results

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes are those of one letter.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads an escape, whose backslash is the next byte.
func (s *scanner) escape(t *text) error {
	if !s.have(2) {
		return s.cutOff()
	}
	c := s.buf[s.pos+1]
	if c == 'u' {
		return s.unicode(t)
	}
	r, ok := escapes[c]
	if !ok {
		return s.wrong("the escape \\%c, which JSON does not have", c)
	}
	s.pos += 2
	if c == 'n' {
		t.newlines++
	}
	t.add([]byte{r})
	return nil
}

// unicode reads \uXXXX, or two of them that are one character.
func (s *scanner) unicode(t *text) error {
	r, err := s.hex()
	if err != nil {
		return err
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		first := r
		r = utf8.RuneError // half a character, which JSON does not forbid
		if s.have(2) && s.buf[s.pos] == '\\' && s.buf[s.pos+1] == 'u' {
			second, err := s.hex()
			if err != nil {
				return err
			}
			if both := utf16.DecodeRune(first, second); both != utf8.RuneError {
				r = both
				s.pos += 6
			}
		}
	}
	if r == '\n' {
		t.newlines++
	}
	t.add(utf8.AppendRune(nil, r))
	return nil
}

// hex is the number of the \uXXXX that comes next, which stays there.
func (s *scanner) hex() (rune, error) {
	if !s.have(6) {
		return 0, s.cutOff()
	}
	n, err := strconv.ParseUint(string(s.buf[s.pos+2:s.pos+6]), 16, 16)
	if err != nil {
		return 0, s.wrong("\\u is not followed by four hexadecimal digits")
	}
	return rune(n), nil
}
