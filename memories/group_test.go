package memories

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

// held is a room whose worker is busy with the first context of m1, so that
// what is asked for next waits in the queue.
func held(t *testing.T) (b *bench, g *gate) {
	o := quick()
	o.Queue.Shards, o.Queue.Attempts = 1, 2
	b = newBench(t, o)
	b.put("m1", "old")
	b.add("m1", `{"n":0}`) // the files are there
	g = b.gate("rename", "memories/m1/context.md")
	b.put("m1", "zero")
	within(t, g.reached, "the worker")
	return b, g
}

// queues begins to add an entry, and returns when it waits in the queue.
func (b *bench) queues(entry string) <-chan error {
	b.t.Helper()
	before := b.Status().Queues[0]
	done := make(chan error, 1)
	go func() {
		_, err := b.AddEntry(ctx, "m1", []byte(entry))
		done <- err
	}()
	b.depth(before + 1)
	return done
}

// depth waits until so many jobs are in the queue.
func (b *bench) depth(n int) {
	b.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for b.Status().Queues[0] != n {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("there are %d jobs in the queue, not %d", b.Status().Queues[0], n)
		}
	}
}

// counted is how often the disk was asked for each thing from its call number
// from on.
func (d *disk) counted(from int) map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := map[string]int{}
	for _, call := range d.calls[from:] {
		n[call]++
	}
	return n
}

func TestWhatWaitsIsDoneTogetherInItsOrder(t *testing.T) {
	b, g := held(t)
	from := len(b.disk.calls)
	var adds []<-chan error
	for n := range 30 {
		if n%10 == 5 {
			b.put("m1", fmt.Sprint("context ", n))
		}
		adds = append(adds, b.queues(fmt.Sprintf(`{"n":%d}`, n+1)))
	}
	g.release()
	for _, done := range adds {
		if err := within(t, done, "an entry"); err != nil {
			t.Fatal(err)
		}
	}
	want := "zero"
	for n, l := range b.lines("m1")[1:] {
		if n%10 == 5 {
			want = fmt.Sprint("context ", n)
		}
		if l.N != n+1 || l.Context.Active != want {
			t.Fatalf("line %d is %+v, not with context %q", n, l, want)
		}
	}
	b.wantFile("memories/m1/context.md", "context 25")
	b.wantFile("memories/m1/context.json", `{"activeContext":"context 25"}`)
	did := b.disk.counted(from)
	for _, call := range []string{"append memories/m1/entries.jsonl", "sync memories/m1/entries.jsonl", "rename memories/m1/context.md"} {
		if did[call] != 1 {
			t.Errorf("%s: %d times, for 30 entries and 3 contexts", call, did[call])
		}
	}
}

func TestAGroupWithABackendIsOneParcel(t *testing.T) {
	srv := newBackend(t)
	o := quick()
	o.Backend, o.Queue.Shards = srv.url(), 1
	b := newBench(t, o)
	b.add("m1", `{"n":0}`)
	b.delivered("m1")
	g := b.gate("rename", "memories/m1/context.md")
	b.put("m1", "text")
	within(t, g.reached, "the worker")
	from := len(b.disk.calls)
	var adds []<-chan error
	for n := range 10 {
		adds = append(adds, b.queues(fmt.Sprintf(`{"n":%d}`, n+1)))
	}
	g.release()
	for _, done := range adds {
		if err := within(t, done, "an entry"); err != nil {
			t.Fatal(err)
		}
	}
	b.delivered("m1")
	parcels := 0
	for call, n := range b.disk.counted(from) {
		if strings.HasPrefix(call, "put "+string(OutboxDir)) {
			parcels += n
		}
	}
	_, taken := srv.got()
	if len(taken) != 11 || parcels != 1 {
		t.Fatalf("%d entries came, by %d parcels", len(taken), parcels)
	}
	for n, d := range taken {
		if d.Entry.N != n {
			t.Fatalf("entry %d came as number %d", d.Entry.N, n)
		}
	}
}

func TestAnEntryThatTheDiskRefusesHarmsNoneBesideIt(t *testing.T) {
	b, g := held(t)
	good, large, last := b.queues(`{"n":1}`), b.queues(`{"text":"`+strings.Repeat("x", 1000)+`"}`), b.queues(`{"n":2}`)
	b.disk.disturb(nil)
	b.disk.limit(800)
	g.release()
	for _, done := range []<-chan error{good, last} {
		if err := within(t, done, "an entry that there is room for"); err != nil {
			t.Error(err)
		}
	}
	if err := within(t, large, "one that is too large"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the entry without room: %v", err)
	}
	if got := b.lines("m1"); len(got) != 3 || got[1].N != 1 || got[2].N != 2 {
		t.Errorf("%+v", got)
	}
}

func TestAllEntriesOfAGroupAreToldOfItsFailedSync(t *testing.T) {
	b, g := held(t)
	adds := []<-chan error{b.queues(`{"n":1}`), b.queues(`{"n":2}`)}
	b.fail("sync", "memories/m1/entries.jsonl", syscall.EIO)
	g.release()
	for _, done := range adds {
		if err := within(t, done, "an entry"); !errors.Is(err, syscall.EIO) {
			t.Errorf("an entry whose sync failed: %v", err)
		}
	}
	if got := b.lines("m1"); len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestARemovalStandsBetweenGroups(t *testing.T) {
	b, g := held(t)
	b.put("m1", "text")
	first := b.queues(`{"n":1}`)
	removed := make(chan error, 1)
	go func() { removed <- b.Remove(ctx, room.Caller{}, "m1/context.md") }()
	b.depth(3)
	second := b.queues(`{"n":2}`)
	g.release()
	for _, done := range []<-chan error{first, removed, second} {
		if err := within(t, done, "all of it"); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.lines("m1"); got[1].Context.Active != "text" || got[2].Context.Active != "" {
		t.Fatalf("%+v", got)
	}
	b.wantNoFile("memories/m1/context.md")
}

func TestAContextThatIsNotWrittenLeavesItsModeToTheNext(t *testing.T) {
	b, g := held(t)
	private := fs.FileMode(0o600)
	if _, err := b.Memories.put(ctx, "m1", "secret", backing.AttrChange{Mode: &private}); err != nil {
		t.Fatal(err)
	}
	b.put("m1", "secret too")
	g.release()
	b.await("m1")
	b.wantFile("memories/m1/context.md", "secret too")
	if info, err := b.Stat(ctx, "m1/context.md"); err != nil || info.Mode != private {
		t.Fatalf("%+v, %v", info, err)
	}
}

func TestAContextThatFailsDoesNotHarmWhatStoodBeforeIt(t *testing.T) {
	b, g := held(t)
	before := b.queues(`{"n":1}`)
	b.put("m1", "large")
	after := b.queues(`{"n":2}`)
	writes := 0
	b.disk.disturb(func(op string, key backing.Key) error {
		if op == "write" && strings.HasSuffix(string(key), snapshotFile+tmpEnd) {
			if writes++; writes <= 3 { // of the group, and of its own two turns
				return syscall.ENOSPC
			}
		}
		return nil
	})
	g.release()
	if err := within(t, before, "the entry before"); err != nil {
		t.Error(err)
	}
	if err := within(t, after, "the entry after"); err != nil {
		t.Error(err)
	}
	if got := b.lines("m1"); len(got) != 3 || got[1].Context.Active != "zero" || got[2].Context.Active != "large" {
		t.Errorf("%+v", got)
	}
	b.wantFile("memories/m1/context.md", "large")
}
