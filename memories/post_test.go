package memories

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRefusedEntryIsParkedAndTheNextOneGoes(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(n int, d delivery) int {
		if d.Entry.Text == "bad" {
			return 422
		}
		return 201
	})
	b := newBench(t, srv.options())
	b.add("m1", `{"text":"a"}`)
	b.add("m1", `{"text":"bad"}`)
	b.add("m1", `{"text":"b"}`)
	b.delivered("m1")
	if all, _ := srv.got(); texts(all) != "a bad b" {
		t.Fatalf("sent %s", texts(all))
	}
	want := "the backend answered 422 Unprocessable Entity: because"
	check := func() {
		t.Helper()
		st := b.Status().Outbox
		if st.Parked != 1 || len(st.Boxes) != 1 || st.Boxes[0].ParkedReason != want {
			t.Fatalf("status %+v", st)
		}
	}
	check()
	if dead := b.file(".ctxfs/log/outbox/m1/dead-letters"); strings.Count(dead, "\n") != 1 || !strings.Contains(dead, want) || !strings.Contains(dead, "bad") {
		t.Fatalf("dead letters %s", dead)
	}
	b.close()
	b = benchIn(t, b.dir, srv.options())
	check()

	srv.answering(nil)
	if n, err := b.RetryParked(ctx, "m1"); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	b.delivered("m1")
	if _, taken := srv.got(); texts(taken) != "a b bad" {
		t.Fatalf("taken %s", texts(taken))
	}
	b.wantNoFile(".ctxfs/log/outbox/m1/dead-letters")
	if st := b.Status().Outbox; st.Parked != 0 {
		t.Fatalf("status %+v", st)
	}
}

func TestRetryAfterIsHeededUpToTheLongestWait(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(n int, d delivery) int {
		if n <= 2 {
			return 503
		}
		return 201
	})
	srv.header = func(n int, h http.Header) { h.Set("Retry-After", map[int]string{1: "7", 2: "3600"}[n]) }
	var waits []time.Duration
	o := srv.options()
	o.BackendRetry = Backoff{Rand: func() float64 { return 0 },
		Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
	b := newBench(t, o)
	b.add("m1", `{"text":"a"}`)
	b.delivered("m1")
	if want := []time.Duration{7 * time.Second, DefaultMaxBackoff}; !slices.Equal(waits, want) {
		t.Fatalf("waited %v, want %v", waits, want)
	}
}

func TestBackendThatIsNoURLIsRefusedAtOpen(t *testing.T) {
	b := newBench(t, quick())
	for _, url := range []string{"host/path", "ftp://host/", "http://", "http://h/%zz", "{memory}"} {
		o := quick()
		o.Backend = url
		if m, err := Open(b.disk, o); err == nil {
			t.Errorf("%s was taken", url)
			m.Close()
		}
	}
}

func TestStatusHidesThePasswordOfTheBackend(t *testing.T) {
	srv := newBackend(t)
	o := srv.options()
	o.Backend = strings.Replace(srv.url(), "http://", "http://me:secret@", 1)
	b := newBench(t, o)
	if got := b.Status().Outbox.Backend; got != srv.url() {
		t.Fatalf("status shows %s", got)
	}
}

func TestStatusSaysWhyAndSinceWhenNothingIsDelivered(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(int, delivery) int { return 500 })
	b := newBench(t, srv.options())
	b.add("m1", `{"text":"a"}`)
	for range 3 {
		within(t, srv.came, "a request")
	}
	box := b.Status().Outbox.Boxes[0]
	if box.Attempts < 1 || box.Since == nil || !strings.Contains(box.LastError, "500") || box.Pending != 1 {
		t.Fatalf("%+v", box)
	}
}
