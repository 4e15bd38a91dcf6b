package variables

import (
	"errors"
	"fmt"
	"io"
)

// jsonDepth is how deep JSON may nest, as in encoding/json.
const jsonDepth = 10000

// jsonError says what is no JSON, and in which line.
type jsonError struct {
	line int
	what string
}

func (e *jsonError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// checkJSON reads all of r and returns a *jsonError unless it is one JSON
// value. It needs the same memory for any length.
func checkJSON(r io.Reader) error {
	c := newJSONCheck()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if bad := c.write(buf[:n]); bad != nil {
			return bad
		}
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return fmt.Errorf("read a json variable: %w", err)
		}
	}
}

// jsonCheck accepts what encoding/json.Valid accepts, byte by byte:
// encoding/json itself wants the whole value in memory. The zero value is not
// ready; use newJSONCheck.
type jsonCheck struct {
	state  jsonState
	nested []byte // the open '{' and '['
	word   string // what must follow of true, false or null
	hex    int    // digits that must follow of a \u
	isKey  bool   // the string is a key
	line   int
	bad    *jsonError
}

type jsonState byte

const (
	jsonValue     jsonState = iota // a value begins
	jsonFirst                      // a value or ']'
	jsonFirstKey                   // a key or '}'
	jsonKey                        // a key
	jsonColon                      // ':'
	jsonAfter                      // ',' or the end of what is open
	jsonEnd                        // only white space
	jsonString                     // within one
	jsonEscape                     // after its backslash
	jsonHex                        // within \u
	jsonWord                       // within true, false, null
	jsonMinus                      // after '-'
	jsonZero                       // after a leading 0
	jsonInt                        // within digits
	jsonDot                        // after '.'
	jsonFrac                       // within digits after it
	jsonExp                        // after e
	jsonExpSign                    // after its sign
	jsonExpDigits                  // within its digits
)

func newJSONCheck() *jsonCheck { return &jsonCheck{line: 1} }

// write goes on with p; the first error stays.
func (c *jsonCheck) write(p []byte) error {
	for i := 0; i < len(p) && c.bad == nil; i++ {
		if c.state == jsonString {
			// The bulk of large values.
			for i < len(p) && p[i] != '"' && p[i] != '\\' && p[i] >= ' ' {
				i++
			}
			if i == len(p) {
				break
			}
		}
		c.step(p[i])
		if p[i] == '\n' {
			c.line++
		}
	}
	if c.bad == nil {
		return nil
	}
	return c.bad
}

// end says whether what was written is a whole value.
func (c *jsonCheck) end() error {
	if c.bad == nil && c.inNumber() {
		c.step(' ')
	}
	if c.bad == nil && c.state != jsonEnd {
		c.fail("it ends in the middle")
	}
	if c.bad == nil {
		return nil
	}
	return c.bad
}

func (c *jsonCheck) fail(what string) { c.bad = &jsonError{c.line, what} }

func (c *jsonCheck) inNumber() bool {
	switch c.state {
	case jsonZero, jsonInt, jsonFrac, jsonExpDigits:
		return true
	}
	return false
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func (c *jsonCheck) step(b byte) {
	switch {
	case c.state >= jsonMinus:
		c.number(b)
	case c.state >= jsonString:
		c.inside(b)
	case !isSpace(b):
		c.between(b)
	}
}

// between handles what is not in a string, word or number.
func (c *jsonCheck) between(b byte) {
	switch c.state {
	case jsonValue, jsonFirst:
		if b == ']' && c.state == jsonFirst {
			c.close('[')
			return
		}
		c.value(b)
	case jsonFirstKey, jsonKey:
		switch {
		case b == '"':
			c.state, c.isKey = jsonString, true
		case b == '}' && c.state == jsonFirstKey:
			c.close('{')
		default:
			c.fail(fmt.Sprintf("%q where a key in double quotes should be", b))
		}
	case jsonColon:
		if c.state = jsonValue; b != ':' {
			c.fail(fmt.Sprintf("%q where a colon should be", b))
		}
	case jsonAfter:
		c.after(b)
	default:
		c.fail(fmt.Sprintf("%q after the end of the value", b))
	}
}

func (c *jsonCheck) after(b byte) {
	open := c.nested[len(c.nested)-1]
	switch {
	case b == ',' && open == '{':
		c.state = jsonKey
	case b == ',':
		c.state = jsonValue
	case b == '}' || b == ']':
		c.close(b - 2)
	default:
		c.fail(fmt.Sprintf("%q where a comma or the end should be", b))
	}
}

// close ends the object or list that open began: in ASCII the closing mark
// comes two after it.
func (c *jsonCheck) close(open byte) {
	if c.nested[len(c.nested)-1] != open {
		c.fail(fmt.Sprintf("%q closes what it did not open", open+2))
		return
	}
	c.nested = c.nested[:len(c.nested)-1]
	c.done()
}

// done ends a value.
func (c *jsonCheck) done() {
	c.state = jsonAfter
	if len(c.nested) == 0 {
		c.state = jsonEnd
	}
}

func (c *jsonCheck) value(b byte) {
	switch {
	case b == '{':
		c.open(b, jsonFirstKey)
	case b == '[':
		c.open(b, jsonFirst)
	case b == '"':
		c.state = jsonString
	case b == 't':
		c.state, c.word = jsonWord, "rue"
	case b == 'f':
		c.state, c.word = jsonWord, "alse"
	case b == 'n':
		c.state, c.word = jsonWord, "ull"
	case b == '-':
		c.state = jsonMinus
	case b == '0':
		c.state = jsonZero
	case isDigit(b):
		c.state = jsonInt
	default:
		c.fail(fmt.Sprintf("%q where a value should be", b))
	}
}

func (c *jsonCheck) open(b byte, next jsonState) {
	if len(c.nested) == jsonDepth {
		c.fail(fmt.Sprintf("nested more than %d deep", jsonDepth))
		return
	}
	c.nested = append(c.nested, b)
	c.state = next
}

// copy is c as it is now.
func (c *jsonCheck) copy() *jsonCheck {
	d := *c
	d.nested = append([]byte(nil), c.nested...)
	return &d
}
