package memories

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"ctxfs/backing"
)

// unsureLetters is a store that appends dead letters, and says a few times that
// it does not know whether it did.
type unsureLetters struct {
	apart
	lose atomic.Int32 // how many more
}

func (s *unsureLetters) Append(ctx context.Context, key backing.Key, data []byte) (backing.Meta, error) {
	m, err := s.apart.Append(ctx, key, data)
	if err == nil && key.Name() == deadFile && s.lose.Add(-1) >= 0 {
		err = backing.ErrUnknown
	}
	return m, err
}

func refuseAll(int, delivery) int { return http.StatusUnprocessableEntity }

func TestARefusedEntryIsParkedOnceWhereThatIsHardToTell(t *testing.T) {
	srv := newBackend(t)
	srv.answering(refuseAll)
	store := &unsureLetters{apart: ofAll(t)}
	store.lose.Store(2)
	one := host(t, store, srv.leased(never))
	one.add("m", `{"id":"a"}`)
	one.add("m", `{"id":"b"}`)
	one.delivered("m")
	one.wantParked("m", "a", "b")
}

// A host may die after it has parked an entry, and before it has moved the cursor.
func TestARefusedEntryIsParkedOnceByTheHostsThatSendIt(t *testing.T) {
	srv := newBackend(t)
	srv.answering(refuseAll)
	store := ofAll(t)
	one := host(t, store, srv.leased(never))
	one.add("m", `{"id":"a"}`)
	one.delivered("m")
	one.leave()
	v := cursorOf(t, store, "m")
	gone := &Memories{store: store}
	if _, err := gone.putCursor(ctx, cursorKey("m"), cursor{}, v.rev); err != nil {
		t.Fatal(err)
	}
	two := host(t, store, srv.leased(never))
	two.add("m", `{"id":"b"}`)
	two.delivered("m")
	srv.wantInOrder([]string{"a", "b"})
	two.wantParked("m", "a", "b")
}

func TestALetterBehindHalfALineIsALetter(t *testing.T) {
	srv := newBackend(t)
	srv.answering(refuseAll)
	one := newBench(t, srv.options())
	one.add("m", `{"id":"a"}`)
	one.delivered("m")
	if _, err := one.store.Append(ctx, one.outbox.deadKey("m"), []byte(`{"time":"20`)); err != nil {
		t.Fatal(err)
	}
	one.add("m", `{"id":"b"}`)
	one.delivered("m")
	one.wantParked("m", "a", "b")
}

// wantParked checks what is in the dead letters, and what the status says of them.
func (b *bench) wantParked(memory string, want ...string) {
	b.t.Helper()
	letters, _, err := b.outbox.deadLetters(ctx, memory)
	if err != nil {
		b.t.Fatal(err)
	}
	same := len(letters) == len(want)
	for i := 0; same && i < len(want); i++ {
		same = letters[i].Key == want[i]
	}
	if st := b.Status().Outbox; !same || st.Parked != len(want) {
		b.t.Errorf("parked are %+v, %d by the status; want %q", letters, st.Parked, want)
	}
}
