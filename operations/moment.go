package operations

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var age = regexp.MustCompile(`^(\d{1,6})([mhdw])$`)

// Moment reads a time: RFC 3339, a date and time in UTC, a date, whose end it
// is where end is set, or an age before now. "" is the zero time.
// *ArgumentError.
func Moment(s string, now time.Time, end bool) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if m := age.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return time.Time{}, badArgument(err)
		}
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		return now.Add(-time.Duration(n) * unit), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse("2006-01-02", s); err == nil {
		if end {
			t = t.Add(24*time.Hour - time.Second)
		}
		return t, nil
	}
	return time.Time{}, badArgument(fmt.Errorf("%q is no time; write 2026-02-21, 2026-02-21T14:30:22Z or an age as 90m, 12h, 7d, 2w", s))
}
