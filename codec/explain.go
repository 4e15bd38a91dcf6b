package codec

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	aliasReason = "the frontmatter holds an alias (`*name`)"
	aliasFix    = "write the value out; put a value that begins with * in quotes"
)

// yamlLine finds the line that yaml.v3 puts into its errors.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// explain turns what the YAML library says of text into a refusal that names
// the line of the draft and what to write instead.
func explain(text []byte, err error) *Refusal {
	if r := unknownAlias(text, err); r != nil {
		return r
	}
	if r := commonMistake(text); r != nil {
		return r
	}
	line, why := yamlError(err)
	switch {
	case strings.Contains(why, "mapping values are not allowed"):
		return refuse(line, "", "a value holds a colon with a blank after it, or a line is indented that should not be",
			"put the value in double quotes, as in `title: \"Fix: the parser\"`; begin every field at the start of its line")
	case strings.Contains(why, "expected ',' or ']'"):
		return refuse(line, "", "a list that begins with [ has no ] at its end", "write it in one line, as in `tags: [security, auth]`")
	case strings.Contains(why, "could not find expected ':'"):
		return refuse(line, "", "a line is no field: there is no `key: value` in it", "write one `key: value` a line; the text of the entry belongs below the second `---`")
	}
	return refuse(line, "", "the frontmatter is not valid YAML: "+why, yamlFix)
}

func yamlError(err error) (line int, why string) {
	text := err.Error()
	line = 2 // the library names no line where it means the first
	if m := yamlLine.FindStringSubmatch(text); len(m) == 2 && m[1] != "" {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n + 1
		}
		// The library counts lines from 0 in what its parser says, from 1
		// in what its scanner says.
		if strings.Contains(text, "did not find expected") {
			line++
		}
	}
	return line, firstRunes(yamlLine.ReplaceAllString(oneLine(text), ""), 2*quotedRunes)
}

// unknownAlias is for `tags: *x`: what the library says of it helps nobody.
func unknownAlias(text []byte, err error) *Refusal {
	_, name, found := strings.Cut(err.Error(), "unknown anchor '")
	name, _, ok := strings.Cut(name, "' referenced")
	at := bytes.Index(text, []byte("*"+name))
	if !found || !ok || at < 0 {
		return nil
	}
	return refuse(2+bytes.Count(text[:at], []byte("\n")), "", aliasReason, aliasFix)
}

// commonMistake finds what the library reports a line late, or in words for
// its authors.
func commonMistake(text []byte) *Refusal {
	n := 1
	for line := range bytes.Lines(text) {
		n++
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")) && len(trimLine(line)) > 0 {
			return refuse(n, "", "the line is indented with a tab", "indent with spaces")
		}
		key, rest, found := strings.Cut(string(trimLine(line)), ":")
		if found && rest != "" && rest[0] != ' ' && rest[0] != '\t' && slices.Contains(fieldOrder, key) {
			return refuse(n, key, fmt.Sprintf("there is no blank after `%s:`", key), "write `"+key+": …`, as in `"+examples[key]+"`")
		}
	}
	return nil
}
