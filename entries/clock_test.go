package entries

import (
	"strings"
	"testing"
	"time"

	"ctxfs/codec"
)

// The lines of a changelog stand in the order in which they were made, also
// where the clock says otherwise.
func TestAClockThatJumpsBackLosesNoLineAndNoVersion(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	next := valid
	for i, jump := range []time.Duration{time.Hour, -48 * time.Hour, -300 * 24 * time.Hour, time.Second} {
		b.pass(jump)
		next += strings.Repeat("more\n", i+1)
		b.mustSave(bob, one, next)
	}
	lines := codec.ChangelogLines([]byte(b.read(one)))
	want := []string{"2026-02-22T11", "2026-02-20T11", "2025-04-26T11", "2025-04-26T11"}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, "- "+want[i]) {
			t.Errorf("line %d is %q, not of %s", i, line, want[i])
		}
	}
	versions, err := b.store.Versions(ctx, one)
	b.ok(err)
	if len(versions) != 4 {
		t.Errorf("%d versions: %+v", len(versions), versions)
	}
	again := b.reopen()
	if got := codec.ChangelogLines([]byte(again.read(one))); len(got) != len(want) {
		t.Errorf("after a restart: %q", got)
	}
}
