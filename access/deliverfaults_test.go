package access

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing/postgres/pgtest"
	"ctxfs/memories"
)

// The database is killed while an entry is with the backend, whose answer comes
// at once, and started again.
func TestADatabaseThatCrashesCostsADeliveryNeitherEntryNorOrder(t *testing.T) {
	c, err := pgtest.Start(pgtest.Options{})
	ok(t, err)
	t.Cleanup(func() { ok(t, c.Stop()) })
	var crash sync.Mutex
	var crashes atomic.Int32
	r := newRecorder(t, func(n int) int {
		if n%25 == 10 && crashes.Load() < 3 {
			crashes.Add(1)
			crash.Lock()
			go func() {
				defer crash.Unlock()
				if err := c.Kill(syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				if err := c.Restart(); err != nil {
					t.Error(err)
				}
			}()
		}
		return http.StatusCreated
	})
	log := slog.New(slog.DiscardHandler)
	url := c.URL()
	var adding sync.WaitGroup
	var hosts []*memories.Memories
	for i := range 2 {
		l, err := Database(url, t.TempDir())
		ok(t, err)
		store, _, err := Open(t.Context(), l, log)
		ok(t, err)
		m, err := memories.Open(store, memories.Options{Backend: r.URL, Log: log})
		ok(t, err)
		t.Cleanup(func() {
			ok(t, m.Close())
			ok(t, store.Close())
		})
		hosts = append(hosts, m)
		adding.Go(func() {
			for n := range perHost {
				if _, err := m.AddEntry(t.Context(), common, fmt.Appendf(nil, `{"id":"%d-%d"}`, i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	adding.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, m := range hosts {
		err := m.AwaitDelivery(ctx, common)
		for err != nil && ctx.Err() == nil { // the database was away
			err = m.AwaitDelivery(ctx, common)
		}
		ok(t, err)
	}
	crash.Lock()
	defer crash.Unlock()
	stored := keysIn(t, url)
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := slices.Compact(slices.Clone(r.all)); len(stored) != 2*perHost || !slices.Equal(got, stored) || crashes.Load() != 3 {
		t.Errorf("%d crashes; came\n%s\nand the memory has\n%s", crashes.Load(), strings.Join(got, " "), strings.Join(stored, " "))
	}
}
