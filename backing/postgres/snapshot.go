package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// snapshot is what pg_current_snapshot() says: which transactions a statement
// sees. It is also a place in the feed of changes, and the token of an event.
type snapshot struct {
	xmin, xmax int64   // all before xmin are over; xmax and those after it had not begun
	running    []int64 // between the two, sorted
}

// String is PostgreSQL's form: xmin:xmax:running,running.
func (s *snapshot) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d:", s.xmin, s.xmax)
	for i, x := range s.running {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(x, 10))
	}
	return b.String()
}

func parseSnapshot(text string) (*snapshot, error) {
	part := strings.Split(text, ":")
	if len(part) != 3 {
		return nil, fmt.Errorf("%q is no snapshot", text)
	}
	s := &snapshot{running: []int64{}} // never nil, which would be NULL
	var err, err2 error
	s.xmin, err = strconv.ParseInt(part[0], 10, 64)
	s.xmax, err2 = strconv.ParseInt(part[1], 10, 64)
	if err != nil || err2 != nil || s.xmin > s.xmax {
		return nil, fmt.Errorf("%q is no snapshot", text)
	}
	if part[2] == "" {
		return s, nil
	}
	for word := range strings.SplitSeq(part[2], ",") {
		x, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no snapshot", text)
		}
		s.running = append(s.running, x)
	}
	slices.Sort(s.running)
	return s, nil
}
