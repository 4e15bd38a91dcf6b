package entries

import (
	"slices"
	"testing"
	"time"
)

func TestALockGoesToRenamesFirstAndElseInOrder(t *testing.T) {
	var l pathLocks
	unlock := l.lock("a/x")
	var order []string // guarded by the lock
	done := make(chan struct{})
	waiting := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.locks["a/x"].first) + len(l.locks["a/x"].others)
	}
	names := []string{"save 1", "save 2", "rename 1", "save 3", "rename 2"}
	for n, name := range names {
		go func() {
			take := l.lock
			if name[0] == 'r' {
				take = l.lockFirst
			}
			give := take("a/x")
			order = append(order, name)
			give()
			done <- struct{}{}
		}()
		deadline := time.After(time.Minute)
		for waiting() <= n {
			select {
			case <-deadline:
				t.Fatal("it does not wait for the lock")
			case <-time.After(time.Millisecond):
			}
		}
	}
	l.lock("a/y")() // another path does not wait
	unlock()
	for range names {
		<-done
	}
	if want := []string{"rename 1", "rename 2", "save 1", "save 2", "save 3"}; !slices.Equal(order, want) {
		t.Errorf("the lock went to %q", order)
	}
	if len(l.locks) != 0 {
		t.Errorf("%d locks are kept", len(l.locks))
	}
}
