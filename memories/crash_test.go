package memories

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/backing/localdir"
)

// The child of the crash test: where its store is, and the backend.
const (
	childStore   = "CTXFS_TEST_MEMORIES_STORE"
	childBackend = "CTXFS_TEST_MEMORIES_BACKEND"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		if err := child(dir, os.Getenv(childBackend)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const crashMemories = 3

// child puts and adds until it is killed: entry n of each memory after its
// context n. It says what was acknowledged, a line each.
func child(dir, url string) error {
	log := slog.New(slog.DiscardHandler)
	store, err := localdir.Open(dir, localdir.Options{Log: log})
	if err != nil {
		return err
	}
	s, err := Open(store, crashOptions(url))
	if err != nil {
		return err
	}
	var next [crashMemories]int
	for m := range next {
		text, err := os.ReadFile(filepath.Join(dir, "memories", fmt.Sprint("m", m), "entries.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		next[m] = strings.Count(string(text), "\n")
	}
	for {
		for m := range next {
			name := fmt.Sprint("m", m)
			if err := s.PutContext(ctx, name, fmt.Sprint("context ", next[m])); err != nil {
				return err
			}
			if _, err := s.AddEntry(ctx, name, fmt.Appendf(nil, `{"n":%d}`, next[m])); err != nil {
				return err
			}
			fmt.Println(m, next[m])
			next[m]++
		}
	}
}

func crashOptions(url string) Options {
	o := quick()
	o.Backend, o.BackendTimeout, o.Log = url, 60*time.Millisecond, slog.New(slog.DiscardHandler)
	return o
}

// run starts a child and kills it with SIGKILL when it has acknowledged acks
// entries; it notes the last of each memory.
func run(t *testing.T, dir, url string, acks int, acked *[crashMemories]int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childStore+"="+dir, childBackend+"="+url)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer watchdog.Stop()
	seen := 0
	for in := bufio.NewScanner(out); in.Scan(); {
		var m, n int
		if _, err := fmt.Sscan(in.Text(), &m, &n); err != nil {
			t.Fatalf("%q: %v", in.Text(), err)
		}
		acked[m] = n
		if seen++; seen == acks {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if seen < acks {
		t.Fatalf("the child ended after %d entries: %v", seen, err)
	}
}

// moods are how the backend behaves from one kill to the next.
var moods = []struct {
	name string
	acks int
	f    func(n int, d delivery) int
}{
	{"well", 12, nil},
	{"failing", 9, func(n int, _ delivery) int { return []int{500, 201, 503}[n%3] }},
	{"hanging", 7, func(n int, _ delivery) int { return []int{hang, 201}[n%2] }},
	{"taking without an answer", 10, func(n int, _ delivery) int { return []int{takeHang, 201, hangUp}[n%3] }},
	{"dead", 8, nil},
	{"well again", 5, nil},
	{"always failing", 11, func(int, delivery) int { return 500 }},
}

func TestKilledProcessesLoseNoEntry(t *testing.T) {
	srv := newBackend(t)
	dir := t.TempDir()
	var acked [crashMemories]int
	for _, mood := range moods {
		srv.answering(mood.f)
		if mood.name == "dead" {
			srv.down()
		}
		run(t, dir, srv.url(), mood.acks, &acked)
		if mood.name == "dead" {
			srv.up()
		}
	}
	srv.answering(func(n int, _ delivery) int { return []int{201, 500}[n%2] })
	b := benchIn(t, dir, crashOptions(srv.url()))
	for m := range crashMemories {
		b.delivered(fmt.Sprint("m", m))
		if left := b.outboxFiles(fmt.Sprint("m", m)); len(left) > 0 {
			t.Errorf("left in the outbox: %v", left)
		}
	}
	all, taken := srv.got()
	next := map[string]int{}
	for _, d := range taken {
		if d.Entry.N != next[d.MemoryID] {
			t.Fatalf("memory %s: entry %d came when %d was next", d.MemoryID, d.Entry.N, next[d.MemoryID])
		}
		if want := fmt.Sprintf(`{"activeContext":"context %d"}`, d.Entry.N); string(d.Context) != want {
			t.Fatalf("memory %s: entry %d came with %s", d.MemoryID, d.Entry.N, d.Context)
		}
		next[d.MemoryID]++
	}
	for m, last := range acked {
		name := fmt.Sprint("m", m)
		if next[name] <= last {
			t.Errorf("memory %s: %d was acknowledged, %d entries came", name, last, next[name])
		}
		if stored := b.lines(name); len(stored) != next[name] {
			t.Errorf("memory %s: %d entries are stored, %d came", name, len(stored), next[name])
		}
	}
	first := map[string]delivery{}
	for _, d := range all {
		if f, again := first[d.Key]; again && f.Body != d.Body {
			t.Errorf("key %s came with\n%s\nand\n%s", d.Key, f.Body, d.Body)
		}
		first[d.Key] = d
	}
	if len(first) != len(taken) {
		t.Errorf("%d keys for %d entries", len(first), len(taken))
	}
	if len(all) == len(taken) {
		t.Error("nothing was sent twice: the test shows nothing")
	}
}

func TestKilledProcessHasEachAcknowledgedEntryAndTheContextBeforeIt(t *testing.T) {
	dir := t.TempDir()
	var acked [crashMemories]int
	for range 4 {
		run(t, dir, "", 30, &acked)
		b := benchIn(t, dir, quick())
		for m, last := range acked {
			name := fmt.Sprint("m", m)
			// An entry is there, so the context before it is; and the next
			// context may be.
			text, err := b.GetContext(ctx, name)
			var n int
			if _, serr := fmt.Sscanf(text, "context %d", &n); err != nil || serr != nil || n < last || n > last+2 {
				t.Fatalf("memory %s has %q, %v, after entry %d", name, text, err, last)
			}
			b.wantFile("memories/"+name+"/context.json", string(snapshotOf(text)))
			for i, l := range b.lines(name) {
				if l.N != i || l.Context.Active != fmt.Sprint("context ", i) {
					t.Fatalf("memory %s, entry %d: %+v", name, i, l)
				}
			}
		}
		b.close()
	}
}
