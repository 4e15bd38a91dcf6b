package memories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ctxfs/backing"
)

func TestAHostThatSleptOverItsLeaseSendsNothingMore(t *testing.T) {
	srv := newBackend(t)
	store := ofAll(t)
	one := host(t, store, srv.leased(never))
	if err := one.beginCursor(ctx, "m"); err != nil {
		t.Fatal(err)
	}
	h, err := one.outbox.take(&box{memory: "m"}, cursorOf(t, store, "m"))
	if err != nil {
		t.Fatal(err)
	}
	two := host(t, store, srv.leased(never))
	other, err := two.outbox.take(&box{memory: "m"}, cursorOf(t, store, "m"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.advance(7); !errors.Is(err, errLost) || h.ctx.Err() == nil {
		t.Errorf("the one that slept goes on: %v, %v", err, h.ctx.Err())
	}
	h.end()
	if v := cursorOf(t, store, "m"); v.cursor.Holder != two.outbox.id {
		t.Errorf("the end of the one that slept leaves %+v", v.cursor)
	}
	if err := other.advance(0); err != nil {
		t.Error(err)
	}
	other.end()
}

// unsure is a store in which cursors are put, and nobody says so, and then are
// not put at all for a while.
type unsure struct {
	apart
	mu         sync.Mutex
	lose, fail int // how many more
}

func (s *unsure) Put(ctx context.Context, key backing.Key, r io.Reader, o backing.PutOptions) (backing.Meta, error) {
	if key.Name() != cursorFile || o.If == backing.Absent {
		return s.apart.Put(ctx, key, r, o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose == 0 && s.fail > 0 {
		s.fail--
		return backing.Meta{}, syscall.EIO
	}
	m, err := s.apart.Put(ctx, key, r, o)
	if err == nil && s.lose > 0 {
		s.lose--
		err = backing.ErrUnknown
	}
	return m, err
}

func TestACursorThatIsHardToMoveCostsNoEntry(t *testing.T) {
	srv := newBackend(t)
	store := &unsure{apart: ofAll(t), lose: 3, fail: 5} // the first is to take it
	one := host(t, store, srv.leased(never))
	for n := range 3 {
		one.add("m", fmt.Sprintf(`{"id":"%d"}`, n))
	}
	one.delivered("m")
	srv.wantInOrder([]string{"0", "1", "2"})
	if all, _ := srv.got(); len(all) != 3 {
		t.Errorf("%d requests", len(all))
	}
}

func TestAllIsDeliveredFromTheFirstEntryOfAHostThatDelivers(t *testing.T) {
	srv := newBackend(t)
	store := ofAll(t)
	without, with := host(t, store, quick()), host(t, store, srv.leased(never))
	without.add("m", `{"id":"before"}`)
	with.add("m", `{"id":"a"}`)
	with.delivered("m")
	without.add("m", `{"id":"b"}`)
	with.delivered("m")
	srv.wantInOrder([]string{"a", "b"})
}

func TestWhatIsRefusedIsKnownToAllHosts(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(_ int, d delivery) int {
		if d.Key == "b" {
			return http.StatusUnprocessableEntity
		}
		return 201
	})
	store := ofAll(t)
	one := host(t, store, srv.leased(never))
	for _, id := range []string{"a", "b", "c"} {
		one.add("m", fmt.Sprintf(`{"id":%q}`, id))
	}
	one.delivered("m")
	srv.wantInOrder([]string{"a", "b", "c"})
	if waits, err := Undelivered(ctx, store); !waits || err != nil {
		t.Errorf("what was refused is left: %v, %v", waits, err)
	}
	srv.answering(nil)
	two := host(t, store, srv.leased(never))
	two.delivered("m")
	for _, h := range []*bench{one, two} {
		st := h.untilStatus(func(st *OutboxStatus) bool { return st.Parked == 1 })
		if !strings.Contains(st.Boxes[0].ParkedReason, "422") {
			t.Errorf("status %+v", st)
		}
	}
	if n, err := two.RetryParked(ctx, "m"); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	two.delivered("m")
	if _, taken := srv.got(); len(taken) != 3 || taken[2].Key != "b" {
		t.Errorf("taken: %+v", taken)
	}
	if waits, err := Undelivered(ctx, store); waits || err != nil {
		t.Errorf("something is left: %v, %v", waits, err)
	}
}

func TestWhatAnOlderVersionLeftInItsOutboxIsDelivered(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(_ int, d delivery) int {
		if d.Key == "0" {
			return http.StatusUnprocessableEntity
		}
		return 503
	})
	store := ofAll(t)
	old := host(t, store.Store, srv.options())
	for n := range 3 {
		old.add("m", fmt.Sprintf(`{"id":"%d"}`, n))
	}
	for range 2 { // 0 is parked when 1 comes
		within(t, srv.came, "an entry")
	}
	old.leave()
	srv.answering(nil)
	one := host(t, store, srv.leased(never))
	one.add("m", `{"id":"3"}`)
	one.delivered("m")
	if _, taken := srv.got(); len(taken) != 3 || taken[0].Key != "1" || taken[1].Key != "2" || taken[2].Key != "3" {
		t.Errorf("taken: %+v", taken)
	}
	if n, err := one.RetryParked(ctx, "m"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	one.delivered("m")
	if _, taken := srv.got(); len(taken) != 4 || taken[3].Key != "0" {
		t.Errorf("taken: %+v", taken)
	}
	for _, dir := range []backing.Key{OutboxDir.Join("m"), DeliveriesDir.Join("m")} {
		left, err := store.List(ctx, dir, "", 10)
		left = slices.DeleteFunc(left, func(m backing.Meta) bool { return m.Key.Name() == cursorFile })
		if err != nil || len(left) > 0 {
			t.Errorf("in %s there is %v, %v", dir, left, err)
		}
	}
}

func TestEntriesThatAreNotThoseThatWereDeliveredAreAllSent(t *testing.T) {
	srv := newBackend(t)
	store := ofAll(t)
	one := host(t, store, srv.leased(never))
	one.add("m", `{"id":"a","text":"longer than what comes in its place"}`)
	one.add("m", `{"id":"b"}`)
	one.delivered("m")
	// As after a backup that has the one and not the other.
	if err := store.Remove(ctx, one.key("m", entriesFile), ""); err != nil {
		t.Fatal(err)
	}
	one.add("m", `{"id":"c"}`)
	one.delivered("m")
	srv.wantInOrder([]string{"a", "b", "c"})
	var c cursor
	text, err := one.readAll(ctx, cursorKey("m"))
	if err != nil || json.Unmarshal(text, &c) != nil || c.Offset != cursorOf(t, store, "m").size {
		t.Errorf("the cursor is %s, %v", text, err)
	}
}

// Nobody but an operator removes a cursor.
func TestACursorThatIsGoneIsMadeAnew(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(int, delivery) int { return http.StatusServiceUnavailable })
	store := ofAll(t)
	one := host(t, store, srv.leased(never))
	one.add("m", `{"id":"a"}`)
	one.add("m", `{"id":"b"}`)
	within(t, srv.came, "the first entry")
	one.untilStatus(func(st *OutboxStatus) bool { return st.Pending == 2 })
	if err := store.Remove(ctx, cursorKey("m"), ""); err != nil {
		t.Fatal(err)
	}
	srv.answering(nil)
	one.untilStatus(func(st *OutboxStatus) bool { return st.Pending == 0 })
	if v := cursorOf(t, store, "m"); v.rev != "" {
		t.Errorf("there is %+v again, and nobody has added anything", v.cursor)
	}
	one.add("m", `{"id":"c"}`)
	one.delivered("m")
	srv.wantInOrder([]string{"a", "c"})
}
