package codec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Retention is how long something is kept (reference/1, contextRetention).
// [Forever] has no end. As text it is a number and a unit, or "never".
type Retention time.Duration

const (
	// Forever is the retention of what is never removed.
	Forever Retention = -1
	// DefaultRetention is that of agents that say nothing (reference/1).
	DefaultRetention = Retention(30 * 24 * time.Hour)
)

const retentionFix = "write a number and a unit (s, m, h, d, w or y), as 30d or 12w, or never"

var retentionUnits = []struct {
	letter string
	long   time.Duration
}{{"y", 365 * 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// ParseRetention reads a retention; what it cannot read is an error that says
// how to write one.
func ParseRetention(s string) (Retention, error) {
	if s == "never" {
		return Forever, nil
	}
	for _, u := range retentionUnits {
		number, ok := strings.CutSuffix(s, u.letter)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			break
		}
		if n > uint64(1<<63-1)/uint64(u.long) {
			return 0, fmt.Errorf("%q is longer than anything is kept (%s)", s, retentionFix)
		}
		return Retention(n) * Retention(u.long), nil
	}
	return 0, fmt.Errorf("%q is no time to keep something (%s)", s, retentionFix)
}

// String is the text that ParseRetention reads, in the unit that was meant
// most likely.
func (r Retention) String() string {
	if r < 0 {
		return "never"
	}
	// Not in years: 365 days are more often meant as such.
	for _, u := range retentionUnits[2:] {
		if r%Retention(u.long) == 0 && r != 0 {
			return fmt.Sprint(int64(r/Retention(u.long)), u.letter)
		}
	}
	return fmt.Sprintf("%ds", int64(r)/int64(time.Second))
}

// MarshalText is String.
func (r Retention) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRetention.
func (r *Retention) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRetention(string(text))
	return err
}

// Over reports whether what last changed at t is not kept any more at now.
func (r Retention) Over(t, now time.Time) bool {
	return r >= 0 && !t.After(now.Add(-time.Duration(r)))
}

// Retentions says how long the files of each agent are kept.
type Retentions struct {
	Default Retention            `json:"default"`
	Agents  map[string]Retention `json:"agents,omitempty"`
}

// Of is the retention of one agent.
func (r Retentions) Of(agent string) Retention {
	if own, ok := r.Agents[agent]; ok {
		return own
	}
	return r.Default
}
