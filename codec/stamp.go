package codec

import (
	"strings"
	"time"
)

// stampLayout is how ctxfs writes timestamps, in UTC.
const stampLayout = "2006-01-02T15:04:05Z"

// stampLayouts are the forms of ISO 8601 that are read: extended and basic,
// with or without seconds (time.Parse takes a fraction after them, with a
// point or a comma), zone as Z, +hh:mm, +hhmm, +hh, or none.
var stampLayouts = func() (all []string) {
	for _, t := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405", "20060102T1504"} {
		for _, zone := range []string{"Z07:00", "Z0700", "Z07", ""} {
			all = append(all, t+zone)
		}
	}
	return all
}()

// parseStamp reads an ISO 8601 date and time; one without a zone is UTC.
func parseStamp(s string) (time.Time, bool) {
	if len(s) > 64 || !strings.Contains(s, "T") {
		return time.Time{}, false
	}
	for _, layout := range stampLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
