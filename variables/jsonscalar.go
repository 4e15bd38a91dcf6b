package variables

import "fmt"

// inside goes on in a string or a word.
func (c *jsonCheck) inside(b byte) {
	switch c.state {
	case jsonString:
		c.inString(b)
	case jsonEscape:
		switch b {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			c.state = jsonString
		case 'u':
			c.state, c.hex = jsonHex, 4
		default:
			c.fail(fmt.Sprintf("%q after a backslash", b))
		}
	case jsonHex:
		if !isDigit(b) && (b|0x20 < 'a' || b|0x20 > 'f') {
			c.fail(fmt.Sprintf("%q in a \\u escape", b))
			return
		}
		if c.hex--; c.hex == 0 {
			c.state = jsonString
		}
	case jsonWord:
		if b != c.word[0] {
			c.fail(fmt.Sprintf("%q in what should be true, false or null", b))
			return
		}
		if c.word = c.word[1:]; c.word == "" {
			c.done()
		}
	}
}

func (c *jsonCheck) inString(b byte) {
	switch {
	case b == '\\':
		c.state = jsonEscape
	case b == '"' && c.isKey:
		c.state, c.isKey = jsonColon, false
	case b == '"':
		c.done()
	case b < ' ':
		c.fail(fmt.Sprintf("%q in a string, where it must be escaped", b))
	}
}

// number goes on in a number, or after it.
func (c *jsonCheck) number(b byte) {
	was := c.state
	switch {
	case isDigit(b):
		c.digit(b)
	case b == '.' && (was == jsonZero || was == jsonInt):
		c.state = jsonDot
	case b|0x20 == 'e' && (was == jsonZero || was == jsonInt || was == jsonFrac):
		c.state = jsonExp
	case (b == '+' || b == '-') && was == jsonExp:
		c.state = jsonExpSign
	case c.inNumber():
		c.done()
		c.step(b)
	default:
		c.fail(fmt.Sprintf("%q in a number", b))
	}
}

func (c *jsonCheck) digit(b byte) {
	switch c.state {
	case jsonMinus:
		if c.state = jsonInt; b == '0' {
			c.state = jsonZero
		}
	case jsonZero:
		c.fail("a number that begins with 0")
	case jsonDot:
		c.state = jsonFrac
	case jsonExp, jsonExpSign:
		c.state = jsonExpDigits
	}
}
