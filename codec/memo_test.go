package codec

import (
	"fmt"
	"sync"
	"testing"
)

func TestARememberedFrontmatterReadsAsAtFirst(t *testing.T) {
	text := []byte("type: finding\ntags: [a, b]\n")
	_, first, r := fields(text)
	if r != nil {
		t.Fatal(r)
	}
	for range 2 {
		_, again, r := fields(text)
		if r != nil || fmt.Sprint(again) != fmt.Sprint(first) {
			t.Fatalf("first %v, then %v, %v", first, again, r)
		}
	}
	if _, _, r := fields([]byte("a: [")); r == nil {
		t.Fatal("broken YAML was read")
	}
	if _, _, r := fields([]byte("a: [")); r == nil {
		t.Fatal("broken YAML was read at the second time")
	}
}

func TestOnlyTheLastFrontmattersAreRemembered(t *testing.T) {
	m := remembered{known: make(map[string]parsed)}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range 10 * memoMost {
				text := fmt.Appendf(nil, "type: finding\nn: %d\n", worker*i)
				m.put(text, parsed{})
				m.get(text)
			}
		})
	}
	wait.Wait()
	m.put(make([]byte, memoSize+1), parsed{})
	if _, ok := m.get(make([]byte, memoSize+1)); ok || len(m.known) > memoMost {
		t.Fatalf("%d are remembered; a long one: %v", len(m.known), ok)
	}
}
