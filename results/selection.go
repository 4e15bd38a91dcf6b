package results

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSelected bounds how many numbers one selection has.
const maxSelected = 10000

// List writes the numbered list that a model selects from (reference/2,
// Context Selection), one line a result:
//
//  1. search_code: Found 150 matches for "TODO" (12KB)
func List(all []Listed) string {
	var b strings.Builder
	for i, l := range all {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, oneLine(l.ToolName, MaxTool), l.Description)
	}
	return b.String()
}

// ParseSelection reads a model's answer, as "[1, 2]", "1,2" or "1 2", and
// returns the numbers in their order, each once. There must be no other text
// and no number below 1; it returns a *codec.Refusal with EINVAL.
func ParseSelection(answer string) ([]int, error) {
	text := strings.TrimSpace(answer)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, badSelection(answer)
		}
		text = inner
	}
	var numbers []int
	seen := map[int]bool{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || len(numbers) >= maxSelected {
			return nil, badSelection(answer)
		}
		if !seen[n] {
			seen[n] = true
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

func badSelection(answer string) error {
	return refuse("", 0, "select", fmt.Sprintf("%.60q is no selection", answer), "give numbers of the list, as in 1,2")
}

// Pick returns those that have these numbers in the list which [List] writes
// of all; *codec.Refusal with EINVAL where there is no such number.
func Pick(all []Listed, numbers []int) ([]Listed, error) {
	var picked []Listed
	for _, n := range numbers {
		if n < 1 || n > len(all) {
			return nil, refuse("", 0, "select", fmt.Sprintf("there is no number %d in the list of %d", n, len(all)), "list the results again and select from that")
		}
		picked = append(picked, all[n-1])
	}
	return picked, nil
}
