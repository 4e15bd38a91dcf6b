package memories

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ctxfs/backing"
	"ctxfs/room"
)

const (
	// OutboxDir keeps what the backend has not got yet:
	// <memory>/<number>.jsonl, in the order of the numbers, each some stored
	// lines. A file goes when all of it is delivered.
	OutboxDir backing.Key = backing.Own + "/log/outbox"
	parcelEnd             = ".jsonl"
	// deadFile in a memory's outbox keeps what the backend refused.
	deadFile = "dead-letters"
)

// outbox delivers entries to the backend, those of one memory in order, each
// until it is taken or refused: what this process put into parcels before it
// added it, or, where several hosts write the store, what is behind the cursor
// of entries.jsonl.
type outbox struct {
	s      *Memories
	url    urlTemplate
	client *http.Client
	slots  chan struct{} // a token for each request that is under way
	shared bool          // several hosts write the store
	id     string        // of this process among them
	turns  chan struct{} // a token for each memory that this host holds, of theirs

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex // guards what follows
	boxes  map[string]*box
	ending bool
	moved  chan struct{} // closed, and made anew, when a parcel is delivered
	// serving is how many boxes are busy, where several hosts write the store.
	serving int
}

// maxRequests is how many requests are under way at once, each for another
// memory.
const maxRequests = 8

// maxTurns is how many memories this host holds at once, where several hosts
// write the store: enough for the requests, also where most wait between two
// tries, and few enough that they are renewed at little cost.
const maxTurns = 8 * maxRequests

// box is the outbox of one memory. What changes is guarded by outbox.mu.
type box struct {
	memory  string
	parcels []parcel // not delivered; the first is under way
	last    uint64   // number of the newest parcel
	busy    bool     // a goroutine delivers
	status  BoxStatus
	failing time.Time // since when nothing has worked, zero where it does

	letters sync.Mutex // serialises this process's changes of the dead letters

	// Where several hosts write the store.
	begun   bool          // it has a cursor
	touched bool          // since the last look
	mine    bool          // this host adds to it
	from    int64         // the cursor's offset at the last look
	ends    []int64       // of the lines behind it
	wake    chan struct{} // has a token where a look cannot wait
	// Only of who serves it:
	dead   backing.Revision // of the dead letters that status counts
	seen   backing.Revision // of the cursor
	seenAt time.Time        // when it was first seen so
	yields time.Time        // until when others may try, where this host could not
}

// newOutbox reads what an earlier run left.
func newOutbox(ctx context.Context, s *Memories) (*outbox, error) {
	url, err := parseTemplate(s.o.Backend)
	if err != nil {
		return nil, err
	}
	o := &outbox{s: s, url: url, client: newClient(s.o), slots: make(chan struct{}, maxRequests), boxes: map[string]*box{}, moved: make(chan struct{}),
		shared: backing.IsShared(s.store), id: rand.Text(), turns: make(chan struct{}, maxTurns)}
	o.ctx, o.stop = context.WithCancel(context.Background())
	if err := room.MakeOwnDir(ctx, s.store, o.dir()); err != nil {
		return nil, err
	}
	err = s.each(ctx, OutboxDir, func(d backing.Meta) error {
		if !d.Dir || CheckMemory(d.Key.Name()) != nil {
			return nil
		}
		if o.shared {
			return o.adopt(ctx, d.Key.Name())
		}
		b := o.box(d.Key.Name())
		if err := o.load(ctx, b); err != nil {
			return err
		}
		return o.loadDead(ctx, b)
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return o, nil
}

// dir is where this outbox keeps what is to be delivered.
func (o *outbox) dir() backing.Key {
	if o.shared {
		return DeliveriesDir
	}
	return OutboxDir
}

// load reads what one memory has in OutboxDir, and appends to entries.jsonl
// what a crash kept from it.
func (o *outbox) load(ctx context.Context, b *box) error {
	var lines [][]byte
	err := o.s.each(ctx, OutboxDir.Join(b.memory), func(f backing.Meta) error {
		n, ok := parcelNumber(f.Key.Name())
		if !ok {
			return nil
		}
		text, err := o.s.readAll(ctx, f.Key)
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Key, err)
		}
		in := linesOf(text)
		lines = append(lines, in...)
		b.parcels = append(b.parcels, parcel{f.Key, len(in)})
		b.last = n
		return nil
	})
	if err != nil {
		return err
	}
	return o.s.appendMissing(ctx, b.memory, lines)
}

// linesOf takes text apart into its lines, each with its end.
func linesOf(text []byte) [][]byte {
	var lines [][]byte
	for line := range bytes.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

// parcelNumber is the number in a parcel's name: 16 hexadecimal digits.
func parcelNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, parcelEnd)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil
}

// box returns the outbox of a memory. o.mu is held, or nothing runs yet.
func (o *outbox) box(memory string) *box {
	b := o.boxes[memory]
	if b == nil {
		b = &box{memory: memory, status: BoxStatus{Memory: memory}, wake: make(chan struct{}, 1)}
		o.boxes[memory] = b
	}
	return b
}

// send begins to deliver what was added to memory, which lies in parcels where
// no other host writes the store, behind what waits already.
func (o *outbox) send(memory string, parcels []parcel) {
	if o == nil {
		return
	}
	if o.shared {
		o.touch(memory, true, 0)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.box(memory)
	b.parcels = append(b.parcels, parcels...)
	o.wake(b)
}

// start delivers what was found at the start.
func (o *outbox) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.boxes {
		o.wake(b)
	}
	if o.shared {
		o.work.Go(o.follow)
	}
}

// wake makes sure that b is being delivered. o.mu is held.
func (o *outbox) wake(b *box) {
	if b.busy || o.ending || len(b.parcels) == 0 {
		return
	}
	b.busy = true
	o.work.Go(func() { o.deliver(b) })
}

// close stops delivering and waits for the requests under way. What is left
// stays in the store.
func (o *outbox) close() {
	o.mu.Lock()
	o.ending = true
	o.mu.Unlock()
	o.stop()
	o.work.Wait()
	o.client.CloseIdleConnections()
}

// appendMissing appends to entries.jsonl those of lines, which are in order,
// that are not in it.
func (s *Memories) appendMissing(ctx context.Context, memory string, lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := s.makeDirs(ctx, memory); err != nil {
		return err
	}
	key := s.key(memory, entriesFile)
	missing, err := s.missing(ctx, key, lines)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := s.appendLines(ctx, key, missing); err != nil {
		return fmt.Errorf("finish adding to memory %s: %w", memory, err)
	}
	return s.store.Sync(ctx, key)
}
