package memories

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func (b *backend) options() Options {
	o := quick()
	o.Backend = b.url()
	return o
}

func (b *bench) delivered(memory string) {
	b.t.Helper()
	c, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := b.AwaitDelivery(c, memory); err != nil {
		b.t.Fatalf("%v; status %+v", err, b.Status().Outbox)
	}
}

func (b *bench) outboxFiles(memory string) []string {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, ".ctxfs/log/outbox", memory, "*.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	return files
}

func TestEntryReachesTheBackendWithSnapshotAndKey(t *testing.T) {
	srv := newBackend(t)
	o := srv.options()
	o.Vault, o.Header = "v 1", http.Header{"Authorization": {"Bearer x"}}
	b := newBench(t, o)
	b.put("m1", "The plan.")
	id := b.add("m1", `{"text":"Found it."}`)
	b.delivered("m1")
	all, _ := srv.got()
	if len(all) != 1 {
		t.Fatalf("%d requests", len(all))
	}
	d := all[0]
	if d.Path != "/v0/vaults/v%201/memories/m1/entries" || d.Key != id || d.IdemKey != id || d.MemoryID != "m1" ||
		d.RawEntry != "Found it." || d.Entry.Text != "Found it." || string(d.Context) != `{"activeContext":"The plan."}` {
		t.Fatalf("%+v", d)
	}
	if left := b.outboxFiles("m1"); len(left) != 0 {
		t.Fatalf("left in the outbox: %v", left)
	}
	if st := b.Status().Outbox; st.Pending != 0 || st.Parked != 0 || len(st.Boxes) != 0 {
		t.Fatalf("status %+v", st)
	}
}

func TestEntryIsSentAgainWithTheSameKeyUntilItIsTaken(t *testing.T) {
	for name, status := range map[string]int{"500": 500, "503": 503, "429": 429, "408": 408, "302": 302,
		"broken connection": hangUp, "hanging": hang, "taken without an answer": takeHang} {
		t.Run(name, func(t *testing.T) {
			srv := newBackend(t)
			srv.answering(func(n int, d delivery) int {
				if n <= 3 {
					return status
				}
				return 201
			})
			o := srv.options()
			o.BackendTimeout = 50 * time.Millisecond
			b := newBench(t, o)
			b.add("m1", `{"text":"a"}`)
			b.add("m1", `{"text":"b"}`)
			b.delivered("m1")
			all, taken := srv.got()
			if texts(taken) != "a b" || texts(all) != "a a a a b" {
				t.Fatalf("sent %s, taken %s", texts(all), texts(taken))
			}
			for _, d := range all[1:4] {
				if d.Key != all[0].Key || d.Body != all[0].Body {
					t.Fatalf("%+v\nis not\n%+v", d, all[0])
				}
			}
		})
	}
}

func TestConflictEndsTheDelivery(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(int, delivery) int { return 409 })
	b := newBench(t, srv.options())
	b.add("m1", `{"text":"a"}`)
	b.delivered("m1")
	if all, _ := srv.got(); len(all) != 1 {
		t.Fatalf("%d requests", len(all))
	}
	if st := b.Status().Outbox; st.Parked != 0 || len(b.outboxFiles("m1")) != 0 {
		t.Fatalf("status %+v", st)
	}
}

func TestBackendThatWasDownGetsEverythingInOrder(t *testing.T) {
	srv := newBackend(t)
	b := newBench(t, srv.options())
	b.add("m1", `{"text":"a"}`)
	b.delivered("m1")
	srv.down()
	var want []string
	for i := range 20 {
		b.put("m1", fmt.Sprint("context ", i))
		b.add("m1", fmt.Sprintf(`{"text":"%d"}`, i))
		want = append(want, fmt.Sprint(i))
	}
	if st := b.Status().Outbox; st.Pending != 20 || st.Boxes[0].Pending != 20 {
		t.Fatalf("status %+v", st)
	}
	srv.up()
	b.delivered("m1")
	_, taken := srv.got()
	if texts(taken) != "a "+strings.Join(want, " ") {
		t.Fatalf("taken %s", texts(taken))
	}
	for i, d := range taken[1:] {
		if string(d.Context) != fmt.Sprintf(`{"activeContext":"context %d"}`, i) {
			t.Fatalf("entry %d has %s", i, d.Context)
		}
	}
}

func TestOutboxSurvivesARestart(t *testing.T) {
	srv := newBackend(t)
	srv.down()
	b := newBench(t, srv.options())
	for i := range 5 {
		b.add("m1", fmt.Sprintf(`{"text":"%d"}`, i))
		b.add("m2", fmt.Sprintf(`{"text":"%d"}`, i))
	}
	b.close()
	if files := b.outboxFiles("m1"); len(files) != 5 {
		t.Fatalf("outbox %v", files)
	}
	srv.up()
	b = benchIn(t, b.dir, srv.options())
	b.add("m1", `{"text":"new"}`)
	b.delivered("m1")
	b.delivered("m2")
	for _, m := range []string{"m1", "m2"} {
		_, taken := srv.got()
		taken = slices.DeleteFunc(taken, func(d delivery) bool { return d.MemoryID != m })
		if got := strings.TrimSuffix(texts(taken), " new"); got != "0 1 2 3 4" {
			t.Fatalf("%s: taken %s", m, texts(taken))
		}
	}
}

func TestHangingMemoryDoesNotHoldUpAnother(t *testing.T) {
	srv := newBackend(t)
	srv.answering(func(n int, d delivery) int {
		if d.MemoryID == "m1" {
			return hang
		}
		return 201
	})
	o := srv.options()
	o.BackendTimeout = time.Minute
	b := newBench(t, o)
	b.add("m1", `{"text":"a"}`)
	within(t, srv.came, "the request that hangs")
	b.add("m2", `{"text":"b"}`)
	b.delivered("m2")
	if st := b.Status().Outbox; st.Pending != 1 {
		t.Fatalf("status %+v", st)
	}
}

// A crash can come after the outbox and before entries.jsonl.
func TestStartAppendsWhatReachedTheOutboxOnly(t *testing.T) {
	srv := newBackend(t)
	srv.down()
	b := newBench(t, srv.options())
	b.add("m1", `{"text":"a"}`)
	b.add("m1", `{"text":"b"}`)
	whole := b.file("memories/m1/entries.jsonl")
	b.close()
	first, _, _ := strings.Cut(whole, "\n")
	if err := os.WriteFile(filepath.Join(b.dir, "memories/m1/entries.jsonl"), []byte(first+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b = benchIn(t, b.dir, srv.options())
	b.wantFile("memories/m1/entries.jsonl", whole)
	b.close()
	b = benchIn(t, b.dir, srv.options())
	b.wantFile("memories/m1/entries.jsonl", whole)
	srv.up()
	b.delivered("m1")
	if _, taken := srv.got(); texts(taken) != "a b" {
		t.Fatalf("taken %s", texts(taken))
	}
}

func TestEntryThatWasNotStoredIsNotSent(t *testing.T) {
	srv := newBackend(t)
	o := srv.options()
	o.Queue.Attempts = 2
	b := newBench(t, o)
	b.fail("append", "memories/m1/entries.jsonl", errors.New("disk full"))
	if _, err := b.AddEntry(ctx, "m1", []byte(`{"text":"a"}`)); err == nil {
		t.Fatal("no error")
	}
	b.disk.disturb(nil)
	b.add("m1", `{"text":"b"}`)
	b.delivered("m1")
	if all, _ := srv.got(); texts(all) != "b" || len(b.outboxFiles("m1")) != 0 {
		t.Fatalf("sent %s, left %v", texts(all), b.outboxFiles("m1"))
	}
}
