package memories

import (
	"fmt"
	"testing"
)

func TestAHostThatCannotDeliverHoldsFewMemoriesOfMany(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(int, delivery) int { return hang })
	store := ofAll(t)
	one := host(t, store, srv.leased(never))
	const many = 3 * maxTurns
	memory := func(n int) string { return fmt.Sprintf("m%d", n) }
	for n := range many {
		one.add(memory(n), `{"text":"first"}`)
	}
	pending := func(n int) func(*OutboxStatus) bool {
		return func(st *OutboxStatus) bool { return st.Pending == n }
	}
	one.untilStatus(pending(many))
	for n := range many { // also to those that wait for their turn
		one.add(memory(n), `{"text":"second"}`)
	}
	one.untilStatus(pending(2 * many))
	held := 0
	for n := range many {
		if cursorOf(t, store, memory(n)).cursor.Holder != "" {
			held++
		}
	}
	if held > maxTurns {
		t.Errorf("%d memories are held", held)
	}
	srv.answering(nil)
	for n := range many {
		one.delivered(memory(n))
	}
	one.untilStatus(pending(0))
}
