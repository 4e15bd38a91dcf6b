package access

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ctxfs/backing/postgres/pgtest"
)

// The host that waits for an answer is stopped until others have delivered what
// there is, and goes on with its lease over.
func TestAHostThatSleptAmidADeliverySendsNothingButThatOutOfOrder(t *testing.T) {
	url := pgtest.Schema(t)
	const silentAt = 12
	r := newRecorder(t, func(n int) int {
		if n == silentAt {
			return 0
		}
		return http.StatusCreated
	})
	hosts := map[string]*otherHost{}
	for _, name := range []string{"a", "b", "c"} {
		hosts[name] = startHost(t, name, url, r.URL)
	}
	asleep := within(t, r.silent, "what is not answered")
	ok(t, hosts[asleep].Process.Signal(syscall.SIGSTOP))
	r.mu.Lock()
	amid := r.all[silentAt-1]
	r.mu.Unlock()
	acked := []string{amid}
	for name, h := range hosts {
		if name != asleep {
			acked = append(acked, <-h.acked...)
		}
	}
	for len(acked) > 0 {
		key := within(t, r.taken, fmt.Sprint(acked))
		acked = slices.DeleteFunc(acked, func(k string) bool { return k == key })
	}
	ok(t, hosts[asleep].Process.Signal(syscall.SIGCONT))
	last := <-hosts[asleep].acked
	if len(last) < perHost {
		t.Fatalf("the one that slept has added %q", last)
	}
	stored := keysIn(t, url)
	for {
		r.mu.Lock()
		all := slices.Contains(r.all, stored[len(stored)-1])
		r.mu.Unlock()
		if all {
			break
		}
		within(t, r.taken, "the last entry")
	}
	for _, h := range hosts {
		h.leave(t)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	got := slices.Compact(slices.Clone(r.all))
	first := slices.Index(got, amid) + 1
	if late := slices.Index(got[first:], amid); late >= 0 { // as it had not noticed yet
		got = slices.Compact(slices.Delete(got, first+late, first+late+1))
	}
	if !slices.Equal(got, stored) {
		t.Errorf("came\n%s\nand the memory has\n%s", strings.Join(got, " "), strings.Join(stored, " "))
	}
}
