package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// place is one in the feed of changes, and the token of an event: which
// transactions' changes have been seen. New are those of the transactions from
// next on, and of the ones that were still running.
//
// It counts from the newest change that was seen, and not from the newest
// transaction: when a server crashes, it gives the numbers of transactions of
// which nothing was on its disk to others, and the same when a standby takes
// over. A change that was seen was on the disk, so what comes after a crash
// has a greater number.
type place struct {
	line    string  // of time: the server's, which is another one after each takeover
	next    int64   // one more than the newest that was seen
	running []int64 // older ones that were not over, sorted; never nil, which would be NULL
}

// String is line/next:running,running.
func (p *place) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%d:", p.line, p.next)
	for i, x := range p.running {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(x, 10))
	}
	return b.String()
}

// oldest is the first transaction that may have a change which was not seen.
func (p *place) oldest() int64 {
	if len(p.running) > 0 {
		return p.running[0]
	}
	return p.next
}

func parsePlace(text string) (*place, error) {
	line, rest, found := strings.Cut(text, "/")
	next, running, found2 := strings.Cut(rest, ":")
	p := &place{line: line}
	var err, err2 error
	p.next, err = strconv.ParseInt(next, 10, 64)
	p.running, err2 = parseNumbers(running)
	if !found || !found2 || err != nil || err2 != nil {
		return nil, fmt.Errorf("%q is no place in the feed of changes", text)
	}
	return p, nil
}

// seen is the place of a look that had snapshot, the text of
// pg_current_snapshot(): xmin:xmax:running,running. newest is the newest
// transaction with a change that it, or one before it, saw.
func seen(line, snapshot string, newest int64) (*place, error) {
	part := strings.Split(snapshot, ":")
	if len(part) != 3 {
		return nil, fmt.Errorf("%q is no snapshot", snapshot)
	}
	running, err := parseNumbers(part[2])
	if err != nil {
		return nil, fmt.Errorf("%q is no snapshot", snapshot)
	}
	end, _ := slices.BinarySearch(running, newest+1)
	return &place{line: line, next: newest + 1, running: running[:end]}, nil
}

// parseNumbers returns the numbers in text, sorted.
func parseNumbers(text string) ([]int64, error) {
	list := []int64{}
	if text == "" {
		return list, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	slices.Sort(list)
	return list, nil
}
