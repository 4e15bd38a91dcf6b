package memories

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// never is a lease that no test waits for: what is delivered is so because
// somebody has given it up.
const never = time.Hour

// ofAll is a store that several hosts have.
func ofAll(t *testing.T) apart { return apart{local(t)} }

// local is a store in a directory.
func local(t *testing.T) *localdir.Store {
	t.Helper()
	store, err := localdir.Open(t.TempDir(), localdir.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// host is one of those that have store.
func host(t *testing.T, store backing.Store, o Options) *bench {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	m, err := Open(store, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Memories: m, t: t}
	t.Cleanup(b.leave)
	return b
}

// leave ends a host in order; a second call does nothing.
func (b *bench) leave() {
	if b.Memories == nil {
		return
	}
	if err := b.Close(); err != nil {
		b.t.Error(err)
	}
	b.Memories = nil
}

// untilStatus returns the status when it is as wanted.
func (b *bench) untilStatus(wanted func(*OutboxStatus) bool) *OutboxStatus {
	b.t.Helper()
	for {
		_, _, moved := b.outbox.waiting("")
		if st := b.Status().Outbox; wanted(st) {
			return st
		}
		within(b.t, moved, fmt.Sprintf("another status than %+v", b.Status().Outbox))
	}
}

func (b *backend) leased(lease time.Duration) Options {
	o := b.options()
	o.Lease = lease
	return o
}

// keysOf are the keys of what a memory has, in its order.
func keysOf(t *testing.T, store backing.Store, memory string) (keys []string) {
	t.Helper()
	s := &Memories{store: store, top: roomDir}
	text, err := s.readAll(ctx, s.key(memory, entriesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range linesOf(text) {
		_, _, id, err := split(line)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, id)
	}
	return keys
}

// wantInOrder checks that the backend has got want, each before the next, and
// again at most until the next.
func (b *backend) wantInOrder(want []string) {
	b.t.Helper()
	all, _ := b.got()
	var keys []string
	for _, d := range all {
		keys = append(keys, d.Key)
	}
	if got := slices.Compact(keys); !slices.Equal(got, want) {
		b.t.Errorf("came\n%s\nand the memory has\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

func cursorOf(t *testing.T, store backing.Store, memory string) survey {
	t.Helper()
	s := &Memories{store: store, top: roomDir, o: Options{}.orDefault()}
	v, err := s.survey(ctx, memory)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHostsThatAddToOneMemoryDeliverInItsOrder(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(n int, _ delivery) int {
		if n%5 == 2 {
			return []int{500, 503, hangUp}[n%3]
		}
		return 201
	})
	store := ofAll(t)
	var hosts []*bench
	var adding sync.WaitGroup
	for i := range 3 {
		h := host(t, store, srv.leased(never))
		hosts = append(hosts, h)
		adding.Go(func() {
			for n := range 20 {
				if _, err := h.AddEntry(ctx, "m", fmt.Appendf(nil, `{"id":"%d-%d"}`, i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	adding.Wait()
	for _, h := range hosts {
		h.delivered("m")
		if st := h.Status().Outbox; st.Parked != 0 {
			t.Errorf("status %+v", st)
		}
	}
	keys := keysOf(t, store, "m")
	if len(keys) != 60 {
		t.Fatalf("the memory has %q", keys)
	}
	srv.wantInOrder(keys)
	for _, h := range hosts {
		h.leave()
	}
	if v := cursorOf(t, store, "m"); v.waits() || v.cursor.Holder != "" {
		t.Errorf("in the end there is %+v", v)
	}
}

func TestAHostThatLeavesIsSucceededAtOnce(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(int, delivery) int { return hang })
	store := ofAll(t)
	one, two := host(t, store, srv.leased(never)), host(t, store, srv.leased(never))
	one.add("m", `{"id":"a"}`)
	within(t, srv.came, "the first entry")
	two.add("m", `{"id":"b"}`)
	two.untilStatus(func(st *OutboxStatus) bool { return st.Pending == 2 })
	one.add("m", `{"id":"c"}`)
	one.untilStatus(func(st *OutboxStatus) bool { return st.Pending == 3 })
	srv.answering(nil)
	one.leave()
	two.delivered("m")
	srv.wantInOrder([]string{"a", "b", "c"})
}

// A host that is gone does not give up what it delivers.
func TestAHostThatIsGoneIsSucceededAfterItsLease(t *testing.T) {
	srv := newBackend(t)
	store := ofAll(t)
	gone := host(t, store, quick()) // which delivers nothing
	if err := gone.beginCursor(ctx, "m"); err != nil {
		t.Fatal(err)
	}
	v := cursorOf(t, store, "m")
	if _, err := gone.putCursor(ctx, cursorKey("m"), cursor{v.cursor.Offset, "gone"}, v.rev); err != nil {
		t.Fatal(err)
	}
	gone.add("m", `{"id":"a"}`)
	gone.add("m", `{"id":"b"}`)
	host(t, store, srv.leased(300*time.Millisecond))
	for within(t, srv.came, "what a host has left").Key != "b" {
	}
	srv.wantInOrder([]string{"a", "b"})
}

func TestAHostThatCannotReachTheBackendLeavesItToAnother(t *testing.T) {
	srv, dead := newBackend(t), newBackend(t)
	dead.down()
	store := ofAll(t)
	cut := host(t, store, dead.leased(500*time.Millisecond))
	cut.add("m", `{"id":"a"}`)
	cut.untilStatus(func(st *OutboxStatus) bool { return len(st.Boxes) == 1 && st.Boxes[0].LastError != "" })
	host(t, store, srv.leased(500*time.Millisecond))
	cut.add("m", `{"id":"b"}`)
	for within(t, srv.came, "what the other cannot send").Key != "b" {
	}
	srv.wantInOrder([]string{"a", "b"})
	cut.untilStatus(func(st *OutboxStatus) bool { return st.Pending == 0 && len(st.Boxes) == 0 })
}
