package torture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"ctxfs/memories"
)

// backendTimeout is how long a request waits for its answer: long beside what
// a backend needs here, and short beside a test.
const backendTimeout = 200 * time.Millisecond

// moody is a backend that mostly does not answer as one would wish.
type moody struct {
	*httptest.Server

	mu    sync.Mutex          // guards the rest
	asked map[string]int      // requests, by memory
	taken map[string][]string // keys that it has, by memory, in their order
	body  map[string]string   // of the first request with a key
	wrong []error
}

func newMoody(t *testing.T) *moody {
	b := &moody{asked: map[string]int{}, taken: map[string][]string{}, body: map[string]string{}}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

// ServeHTTP answers the requests of each memory in turns: it is down, does not
// answer, takes the entry and breaks the connection, answers late, is busy,
// takes the entry.
func (b *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ MemoryID, IdempotencyKey string }
	var all json.RawMessage
	err := json.NewDecoder(r.Body).Decode(&all)
	if err == nil {
		err = json.Unmarshal(all, &body)
	}
	key := r.Header.Get(memories.KeyHeader)
	if err == nil && (key == "" || key != body.IdempotencyKey) {
		err = fmt.Errorf("the keys are %q and %q", key, body.IdempotencyKey)
	}
	turn := b.turn(body.MemoryID, key, string(all), err)
	switch turn {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 1:
		<-r.Context().Done()
	case 2:
		b.take(body.MemoryID, key)
		panic(http.ErrAbortHandler)
	case 3:
		time.Sleep(backendTimeout / 20)
		b.answer(w, body.MemoryID, key)
	case 4:
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		b.answer(w, body.MemoryID, key)
	}
}

func (b *moody) turn(memory, key, body string, err error) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first, again := b.body[key]; again && first != body {
		err = fmt.Errorf("key %s comes with\n%s\nand\n%s", key, first, body)
	}
	b.body[key] = body
	if err != nil {
		b.wrong = append(b.wrong, err)
	}
	b.asked[memory]++
	return b.asked[memory] % 8
}

// take reports whether it has the key already.
func (b *moody) take(memory, key string) (again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.taken[memory], key) {
		return true
	}
	b.taken[memory] = append(b.taken[memory], key)
	return false
}

func (b *moody) answer(w http.ResponseWriter, memory, key string) {
	if b.take(memory, key) {
		w.WriteHeader(http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusCreated)
}
