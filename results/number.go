package results

// digits reads digits, at least one, and keeps those that fit into text.
func (s *scanner) digits(text []byte) ([]byte, error) {
	n := 0
	for s.have(1) && s.buf[s.pos] >= '0' && s.buf[s.pos] <= '9' {
		text = s.take(text)
		n++
	}
	if n == 0 && !s.have(1) {
		return text, s.cutOff()
	}
	if n == 0 {
		return text, s.wrong("a number lacks a digit")
	}
	return text, nil
}

// take reads one byte and keeps it if it fits into text.
func (s *scanner) take(text []byte) []byte {
	if len(text) < cap(text) {
		text = append(text, s.buf[s.pos])
	}
	s.pos++
	return text
}

func (s *scanner) next(set string) bool {
	if !s.have(1) {
		return false
	}
	for i := range len(set) {
		if s.buf[s.pos] == set[i] {
			return true
		}
	}
	return false
}

// number reads a number, and returns its first bytes.
func (s *scanner) number() (string, error) {
	text := make([]byte, 0, 32)
	if s.next("-") {
		text = s.take(text)
	}
	zero := s.next("0")
	start := s.offset()
	text, err := s.digits(text)
	if err == nil && zero && s.offset() > start+1 {
		err = s.wrong("a number begins with 0")
	}
	if err == nil && s.next(".") {
		text, err = s.digits(s.take(text))
	}
	if err == nil && s.next("eE") {
		text = s.take(text)
		if s.next("+-") {
			text = s.take(text)
		}
		text, err = s.digits(text)
	}
	return string(text), err
}

// literal reads true, false or null.
func (s *scanner) literal() (string, error) {
	for _, word := range []string{"true", "false", "null"} {
		if s.buf[s.pos] != word[0] {
			continue
		}
		if s.have(len(word)) && string(s.buf[s.pos:s.pos+len(word)]) == word {
			s.pos += len(word)
			return word, nil
		}
		if rest := s.buf[s.pos:]; len(rest) < len(word) && string(rest) == word[:len(rest)] {
			return "", s.cutOff()
		}
	}
	return "", s.wrong("%q is the beginning of no JSON value", rune(s.buf[s.pos]))
}
