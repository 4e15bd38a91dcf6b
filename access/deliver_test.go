package access

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/backing/postgres"
	"ctxfs/backing/postgres/pgtest"
	"ctxfs/memories"
)

// The child that is a host: the database and where this host's directories
// are, the backend, and its name.
const (
	hostStore   = "CTXFS_TEST_HOST_STORE"
	hostDir     = "CTXFS_TEST_HOST_DIR"
	hostBackend = "CTXFS_TEST_HOST_BACKEND"
	hostName    = "CTXFS_TEST_HOST_NAME"
)

func TestMain(m *testing.M) {
	if os.Getenv(hostStore) != "" {
		if err := hostMain(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m, pgtest.Options{})
}

// The memory that all hosts add to, and how often each of them does.
const (
	common  = "common"
	perHost = 40
)

// hostMain adds to the memory, says what was acknowledged, a line each, and
// delivers until its standard input ends.
func hostMain() (err error) {
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	l, err := Database(os.Getenv(hostStore), os.Getenv(hostDir))
	if err != nil {
		return err
	}
	store, _, err := Open(ctx, l, log)
	if err != nil {
		return err
	}
	m, err := memories.Open(store, memories.Options{Backend: os.Getenv(hostBackend) + "/{vault}", Vault: os.Getenv(hostName),
		BackendTimeout: time.Hour, Lease: 4 * time.Second, Log: log,
		BackendRetry: memories.Backoff{First: time.Millisecond, Max: 50 * time.Millisecond}})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	defer func() { err = errors.Join(err, m.Close(), store.Close()) }()
	for n := range perHost {
		id, err := m.AddEntry(ctx, common, fmt.Appendf(nil, `{"id":"%s-%d"}`, os.Getenv(hostName), n))
		if err != nil {
			return err
		}
		fmt.Println(id)
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// recorder is a backend that notes what comes, and who sends it: the URL's path.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	all    []string
	answer func(n int) int // to the nth request; 0 never answers
	silent chan string     // who has sent what is not answered
	taken  chan string     // each key, as it is taken
}

func newRecorder(t *testing.T, answer func(n int) int) *recorder {
	r := &recorder{answer: answer, silent: make(chan string, 10), taken: make(chan string, 10000)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return // it was cut off, and counts for nothing
	}
	key := req.Header.Get(memories.KeyHeader)
	r.mu.Lock()
	r.all = append(r.all, key)
	status := r.answer(len(r.all))
	r.mu.Unlock()
	switch status {
	case 0:
		r.silent <- strings.TrimPrefix(req.URL.Path, "/")
		<-req.Context().Done()
		return
	case http.StatusCreated:
		r.taken <- key
	}
	w.WriteHeader(status)
}

// otherHost is a process that has the database open as a host of its own.
type otherHost struct {
	*exec.Cmd
	in    io.Closer
	acked chan []string
}

func startHost(t *testing.T, name, url, backend string) *otherHost {
	t.Helper()
	h := &otherHost{Cmd: exec.Command(os.Args[0]), acked: make(chan []string, 1)}
	h.Env = append(os.Environ(), hostStore+"="+url, hostDir+"="+filepath.Join(t.TempDir(), name), hostBackend+"="+backend, hostName+"="+name)
	h.Stderr = os.Stderr
	in, err := h.StdinPipe()
	ok(t, err)
	h.in = in
	out, err := h.StdoutPipe()
	ok(t, err)
	ok(t, h.Start())
	go func() {
		var ids []string
		for lines := bufio.NewScanner(out); len(ids) < perHost && lines.Scan(); {
			ids = append(ids, lines.Text())
		}
		h.acked <- ids
	}()
	t.Cleanup(func() {
		if h.ProcessState == nil {
			h.Process.Kill()
			h.Wait()
		}
	})
	return h
}

func (h *otherHost) kill(t *testing.T) {
	t.Helper()
	ok(t, h.Process.Kill())
	h.Wait() // which says that it was killed
}

func (h *otherHost) leave(t *testing.T) {
	t.Helper()
	ok(t, h.in.Close())
	ok(t, h.Wait())
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestABackendGetsTheEntriesOfThreeHostsInTheOrderOfTheMemory(t *testing.T) {
	url := pgtest.Schema(t)
	const silentAt = 12
	// It gives no answer to one, and whoever has sent that is killed while it
	// waits, and adds; then it fails for a while.
	r := newRecorder(t, func(n int) int {
		switch {
		case n == silentAt:
			return 0
		case n%7 == 3, n > silentAt && n < silentAt+20:
			return http.StatusServiceUnavailable
		}
		return http.StatusCreated
	})
	hosts := map[string]*otherHost{}
	for _, name := range []string{"a", "b", "c"} {
		hosts[name] = startHost(t, name, url, r.URL)
	}
	holder := hosts[within(t, r.silent, "what is not answered")]
	holder.kill(t)
	var acked []string
	for _, h := range hosts {
		acked = append(acked, <-h.acked...)
	}
	if len(acked) < (len(hosts)-1)*perHost {
		t.Fatalf("acknowledged: %q", acked)
	}
	for left := slices.Clone(acked); len(left) > 0; {
		key := within(t, r.taken, fmt.Sprint(left))
		left = slices.DeleteFunc(left, func(k string) bool { return k == key })
	}
	for _, h := range hosts {
		if h != holder {
			h.leave(t)
		}
	}
	stored := keysIn(t, url)
	r.mu.Lock()
	defer r.mu.Unlock()
	// What the one that was killed was just adding may have come after all.
	got := slices.Compact(slices.Clone(r.all))
	if !slices.Equal(got, stored[:min(len(got), len(stored))]) {
		t.Errorf("came\n%s\nand the memory has\n%s", strings.Join(got, " "), strings.Join(stored, " "))
	}
}

// within fails the test when ch has nothing after a while.
func within(t *testing.T, ch <-chan string, what string) string {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain for %s", what)
		return ""
	}
}

// keysIn are those of the entries of the memory, in its order.
func keysIn(t *testing.T, url string) (keys []string) {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, postgres.Options{ReadOnly: true})
	ok(t, err)
	defer store.Close()
	c, err := store.Open(t.Context(), backing.Key("memories").Join(common).Join("entries.jsonl"), "")
	ok(t, err)
	defer c.Close()
	for lines := bufio.NewScanner(io.NewSectionReader(c, 0, c.Size())); lines.Scan(); {
		var e struct{ ID string }
		ok(t, json.Unmarshal(lines.Bytes(), &e))
		keys = append(keys, e.ID)
	}
	return keys
}
