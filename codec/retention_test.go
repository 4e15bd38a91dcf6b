package codec

import (
	"strings"
	"testing"
	"time"
)

func TestRetentionsAreReadAndWritten(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		text, again string
		want        Retention
	}{
		{"30d", "30d", DefaultRetention},
		{"never", "never", Forever},
		{"2w", "14d", Retention(14 * day)},
		{"1y", "365d", Retention(365 * day)},
		{"36h", "36h", Retention(36 * time.Hour)},
		{"24h", "1d", Retention(day)},
		{"90m", "90m", Retention(90 * time.Minute)},
		{"5s", "5s", Retention(5 * time.Second)},
		{"0d", "0s", 0},
		{"292y", "106580d", Retention(292 * 365 * day)},
	} {
		got, err := ParseRetention(c.text)
		if err != nil || got != c.want || got.String() != c.again {
			t.Errorf("%s is %d, %v, written %s; want %d, written %s", c.text, got, err, got, c.want, c.again)
		}
	}
}

func TestARetentionThatCannotBeReadSaysHowToWriteOne(t *testing.T) {
	for _, text := range []string{"", "30", "d", "-1d", "+1d", "1.5d", "1 d", "30D", "30days", "1d12h", "0", "forever", "293y", "99999999999999999999s"} {
		if r, err := ParseRetention(text); err == nil || !strings.Contains(err.Error(), "30d or 12w, or never") {
			t.Errorf("%q is %v, %v", text, r, err)
		}
	}
}

func TestRetentionIsOverFromItsLastInstantOn(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	hour := Retention(time.Hour)
	for _, c := range []struct {
		r    Retention
		age  time.Duration
		over bool
	}{{hour, time.Hour, true}, {hour, time.Hour - 1, false}, {0, 0, true}, {0, -1, false}, {Forever, 1 << 60, false}} {
		if got := c.r.Over(now.Add(-c.age), now); got != c.over {
			t.Errorf("%s after %s: %v", c.r, c.age, got)
		}
	}
}
