package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The names under which tools say these things.
var (
	queryNames   = []string{"query", "pattern", "regex", "search", "q", "term", "keyword", "keywords"}
	pathNames    = []string{"path", "file", "file_path", "filePath", "filepath", "filename", "directory", "dir", "folder", "url", "uri"}
	countNames   = []string{"matchCount", "match_count", "totalMatches", "total_matches", "numMatches", "num_matches", "count", "total", "totalCount", "total_count"}
	listNames    = []string{"matches", "results", "hits", "items", "files", "entries", "lines", "rows", "records", "data"}
	contentNames = []string{"content", "contents", "text", "output", "stdout", "body"}
	errorNames   = []string{"error", "errorMessage", "error_message"}
)

const (
	keepQuoted = 60  // characters of a query, a path or an error in a description
	maxLine    = 240 // characters of a description
)

// describe is the line by which a model chooses a result: what was found or
// read, and its size.
//
//	Found 150 matches for "TODO" (12KB)
//	45 matches for "error" in logs (3KB)
//	Contents of src/main.ts (2KB)
//	12 files (1KB)
//	Error: no such file (60B)
func describe(args, result shape) string {
	query, path := firstText(args, queryNames), firstText(args, pathNames)
	size := sizeText(result)
	line := ""
	n, what, counted := countOf(result)
	failed := firstText(result, errorNames)
	switch {
	case failed != "":
		line = "Error: " + failed
	case counted && query != "" && path != "":
		line = fmt.Sprintf("%s for %q in %s", plural(n, "match", "matches"), query, path)
	case query != "" && counted:
		line = fmt.Sprintf("Found %s for %q", plural(n, "match", "matches"), query)
	case query != "":
		line = fmt.Sprintf("Result for %q", query)
		if result.kind == 'n' {
			line = fmt.Sprintf("No result for %q", query)
		}
		if path != "" {
			line += " in " + path
		}
	case counted && path != "":
		line = fmt.Sprintf("%s of %s", counts(n, what), path)
	case path != "":
		line = "Contents of " + path
	case counted:
		line = counts(n, what)
	default:
		line = plain(result)
	}
	return oneLine(line, maxLine) + " (" + size + ")"
}

// firstText is the first member of v with one of these names that is a text.
func firstText(v shape, names []string) string {
	for _, name := range names {
		if m := v.member(name); m.kind == '"' && strings.TrimSpace(m.text) != "" {
			return oneLine(m.text, keepQuoted)
		}
	}
	return ""
}

// countOf says how many things a result has, and what it calls them.
func countOf(v shape) (n int, what string, ok bool) {
	if v.kind == '[' {
		return v.count, "items", true
	}
	for _, name := range countNames {
		if m := v.member(name); m.kind == '0' {
			if n, err := strconv.Atoi(m.text); err == nil && n >= 0 {
				return n, "matches", true
			}
		}
	}
	for _, name := range listNames {
		switch m := v.member(name); {
		case m.kind == '[':
			return m.count, name, true
		case m.kind == '"' && m.count > 1:
			return m.count, "lines", true
		case m.kind == '0' && slices.Contains([]string{"matches", "hits", "results"}, name):
			if n, err := strconv.Atoi(m.text); err == nil && n >= 0 {
				return n, name, true
			}
		}
	}
	return 0, "", false
}

var singular = map[string]string{"matches": "match", "results": "result", "hits": "hit", "items": "item", "files": "file",
	"entries": "entry", "lines": "line", "rows": "row", "records": "record", "data": "item"}

func counts(n int, what string) string {
	one := singular[what]
	if what == "data" {
		what = "items"
	}
	return plural(n, one, what)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// plain describes a result of which nothing else is known.
func plain(v shape) string {
	switch v.kind {
	case '"':
		if v.count > 1 {
			return fmt.Sprintf("Text of %d lines: %q", v.count, oneLine(firstLine(v.text), keepQuoted))
		}
		return fmt.Sprintf("Text: %q", oneLine(v.text, keepQuoted))
	case '{':
		names := make([]string, 0, len(v.members))
		for _, m := range v.members {
			names = append(names, m.name)
		}
		if len(names) == 0 {
			return "Nothing: {}"
		}
		return "Object with " + strings.Join(names, ", ")
	case 'n':
		return "Nothing: null"
	}
	return "Value " + v.text
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(s, "\n"), "\n")
	return line
}

// sizeText is the size of what was read where the result says so little more
// than that, otherwise of the result as JSON.
func sizeText(v shape) string {
	size := v.size
	if v.kind == '"' {
		size = v.length
	}
	for _, name := range contentNames {
		if m := v.member(name); m.kind == '"' && m.length > 0 {
			size = m.length
			break
		}
	}
	switch {
	case size < 1<<10:
		return fmt.Sprintf("%dB", size)
	case size < 1<<20:
		return fmt.Sprintf("%dKB", (size+1<<9)>>10)
	}
	return fmt.Sprintf("%.1fMB", float64(size)/(1<<20))
}

// oneLine is s as printable text of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.TrimSpace(s))
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
