package live

import (
	"fmt"
	"testing"
)

func TestATerminatedDaemonKeepsWhatItAcknowledged(t *testing.T) {
	needRoot(t)
	n := processes
	if !*full {
		n = 2 * few
	}
	for _, race := range tested() {
		t.Run(fmt.Sprintf("race=%v", race), func(t *testing.T) {
			dir := t.TempDir()
			d := start(t, race, dir, "--agent", late)
			all := prepare(t, d)
			working := begin(t, n, work{Mount: d.Point, Seed: *seed, For: patience, Ends: true})
			if err := d.Terminate(); err != nil {
				t.Fatal(err)
			}
			finish(t, working, &all)
			if err := d.Ended(); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range all.Wrong {
				t.Error(wrong)
			}
			if _, err := all.litter(d.Store, interrupted); err != nil {
				t.Error(err)
			}
			d = start(t, race, dir, "--agent", late)
			tried, held := check(t, d.Point, all)
			failed := 0
			for _, ids := range all.Tried {
				failed += len(ids)
			}
			table.Add("SIGTERM: objects that are whole and complete after a remount", tried, held,
				fmt.Sprintf("%d processes at work, %d operations before; %d writes were told that they failed", n, operationsOf(all), failed))
		})
	}
}
