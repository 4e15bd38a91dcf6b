package fusefs

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"ctxfs/backing"
	"ctxfs/room"
)

// Options says what is mounted where.
type Options struct {
	Mountpoint string
	StoreName  string               // shown as the device in /proc/mounts
	AllowOther bool                 // serve other users too
	Kernel     []string             // options of mount(8) for the kernel: ro, noexec
	Debug      bool                 // log each request
	Agent      string               // who writes where the caller does not say
	Root       room.Room            // what lies at the top; comparable, as pointers are
	Rooms      map[string]room.Room // rooms below the top, by name; comparable too
	Store      backing.Store        // for statfs and .ctxfs/versions
	Journal    *room.Journal        // refusals, shown as .ctxfs/errors
	Log        *slog.Logger
	Version    string                // of the program, shown as .ctxfs/version
	README     []byte                // shown at the top
	Status     func() map[string]any // more for .ctxfs/stats; may be nil
	Views      room.Room             // shown as .ctxfs/views; may be nil
	// Control is further files in .ctxfs, by name, made when they are opened.
	Control map[string]func() ([]byte, error)
	// Work is further files in .ctxfs, by name, see [Work].
	Work map[string]Work
}

// CacheTime is how long the kernel may keep names and attributes of entries
// and directories without asking. Changes are announced to it at once.
const CacheTime = 6 * time.Hour

// FS is a mounted file system.
type FS struct {
	fuse.RawFileSystem // answers ENOSYS to what is not here

	o       Options
	log     *slog.Logger
	server  *fuse.Server
	tree    *tree
	below   map[string]room.Room // what lies at the top besides the root's own names
	handles handles
	divert  diversions
	who     *identities
	notify  *notifier
	locks   locks
	stats   stats
	started time.Time
	uid     uint32
	gid     uint32

	drafts sync.WaitGroup // that are not closed yet
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup // goroutines of our own
	served chan struct{}  // closed when the kernel has ended the mount
	leave  sync.Once
	left   chan struct{} // closed when Leave has come to its end

	detached      atomic.Bool
	noPassthrough atomic.Bool // the kernel has refused it once
	explained     explained
}

func newFS(o Options) *FS {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f := &FS{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		o:             o,
		log:           o.Log,
		started:       time.Now(),
		uid:           uint32(os.Getuid()),
		gid:           uint32(os.Getgid()),
		who:           newIdentities(o.Agent),
		served:        make(chan struct{}),
		left:          make(chan struct{}),
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.tree = newTree(f.top(), o.Mountpoint)
	f.notify = newNotifier(f)
	return f
}

// String names the file system in go-fuse's own log lines.
func (f *FS) String() string { return "ctxfs" }

// Init keeps the server, through which the kernel is notified.
func (f *FS) Init(s *fuse.Server) { f.server = s }

// request makes a context that ends when the kernel interrupts the request.
// What changes the store must not use it: a commit is not half done because
// its caller was signalled.
func (f *FS) request(cancel <-chan struct{}) context.Context {
	return requestContext{f.ctx, cancel}
}

// requestContext joins the life of the mount with that of one request
// without a goroutine for each request.
type requestContext struct {
	context.Context
	cancel <-chan struct{}
}

func (c requestContext) Done() <-chan struct{} { return c.cancel }

func (c requestContext) Err() error {
	select {
	case <-c.cancel:
		return context.Canceled
	default:
		return c.Context.Err()
	}
}

// caller is who asks, without the labels, which cost a look at /proc.
func caller(h *fuse.InHeader) room.Caller {
	return room.Caller{PID: h.Pid, UID: h.Uid, GID: h.Gid}
}

// named is caller with agent and session.
func (f *FS) named(h *fuse.InHeader) room.Caller {
	c := caller(h)
	c.Agent, c.Session = f.who.of(h.Pid, h.Uid)
	return c
}
