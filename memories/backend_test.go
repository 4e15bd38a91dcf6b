package memories

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// delivery is a request that reached the backend.
type delivery struct {
	Path, Key string
	Body      string
	MemoryID  string          `json:"memoryId"`
	IdemKey   string          `json:"idempotencyKey"`
	RawEntry  string          `json:"rawEntry"`
	Context   json.RawMessage `json:"context"`
	Entry     struct {
		N    int    `json:"n"`
		Text string `json:"text"`
	} `json:"entry"`
}

// The ways in which a backend answers besides a status of HTTP.
const (
	hang     = -1 // it never answers
	hangUp   = -2 // it breaks the connection
	takeHang = -3 // it takes the entry, and never says so
)

// backend is a server that can fail, hang, die and come back.
type backend struct {
	t    testing.TB
	addr string
	over chan struct{} // ends what hangs

	mu     sync.Mutex
	server *httptest.Server
	all    []delivery                  // in the order of arrival
	taken  []delivery                  // the first of each key that was taken
	keys   map[string]delivery         // of these
	answer func(n int, d delivery) int // to the nth request; nil: 201
	header func(n int, h http.Header)  // of the answer
	came   chan delivery               // each request, if somebody listens
}

func newBackend(t testing.TB) *backend {
	b := &backend{t: t, over: make(chan struct{}), keys: map[string]delivery{}, came: make(chan delivery, 10000)}
	b.up()
	t.Cleanup(func() { close(b.over); b.down() })
	return b
}

// up begins to listen, at the same address each time.
func (b *backend) up() {
	b.t.Helper()
	addr := b.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.addr = l.Addr().String()
	s := httptest.NewUnstartedServer(b)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	b.mu.Lock()
	b.server = s
	b.mu.Unlock()
}

// down dies.
func (b *backend) down() {
	b.mu.Lock()
	s := b.server
	b.server = nil
	b.mu.Unlock()
	if s != nil {
		s.CloseClientConnections()
		s.Close()
	}
}

func (b *backend) url() string {
	return "http://" + b.addr + "/v0/vaults/{vault}/memories/{memory}/entries"
}

func (b *backend) answering(f func(n int, d delivery) int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was cut off, and counts for nothing
	}
	d := delivery{Path: r.URL.EscapedPath(), Key: r.Header.Get("Idempotency-Key"), Body: string(body)}
	if err := json.Unmarshal(body, &d); err != nil || r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		b.t.Errorf("%s %s: %v", r.Method, body, err)
	}
	status := b.judge(d, w.Header())
	b.came <- d
	switch status {
	case hang, takeHang:
		select {
		case <-r.Context().Done():
		case <-b.over:
		}
	case hangUp:
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	default:
		w.WriteHeader(status)
		io.WriteString(w, "because\n")
	}
}

func (b *backend) judge(d delivery, h http.Header) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, d)
	status := http.StatusCreated
	if b.answer != nil {
		status = b.answer(len(b.all), d)
	}
	if b.header != nil {
		b.header(len(b.all), h)
	}
	if status == http.StatusCreated || status == takeHang {
		if _, known := b.keys[d.Key]; known {
			if status == http.StatusCreated {
				return http.StatusConflict
			}
			return status
		}
		b.keys[d.Key] = d
		b.taken = append(b.taken, d)
	}
	return status
}

// got are the requests until now, and those of them that were taken.
func (b *backend) got() (all, taken []delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]delivery(nil), b.all...), append([]delivery(nil), b.taken...)
}

// texts are those of the entries.
func texts(ds []delivery) string {
	var all []string
	for _, d := range ds {
		all = append(all, d.Entry.Text)
	}
	return strings.Join(all, " ")
}
