package trace

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// Program is what is run.
type Program struct {
	Args  []string // the first one is the file
	Env   []string
	Dir   string        // whose calls are traced: absolute, without symbolic links
	Limit time.Duration // after which the program is killed, and Run fails
	// Said is called with each line of the standard output, in a goroutine of
	// its own; may be nil.
	Said func(line string)
	// Killed is called right after the program was killed, by an Action or at
	// its Limit; may be nil. A process that hangs in the kernel ends only when
	// what it waits for is ended there too.
	Killed func()
}

// Action says what becomes of a call. The zero value lets it happen.
type Action struct {
	Kill  bool          // kill the process group instead of it, or,
	After bool          // with Kill, right after it
	Fail  syscall.Errno // it does not happen and returns this
	Fake  bool          // it does not happen and returns 0, as if it had
}

// Result is how a run went.
type Result struct {
	Calls  []Call // in the order in which they were about to happen
	Killed bool   // by an Action
	Exit   int    // exit code; 128 and the number for a signal
	Stdout string
	Stderr string
}

// Call is one system call on the directory that is watched.
type Call struct {
	Kind string // as in "renameat"
	Path string // below the directory; a random name is "*"
	N    int    // 1 for the first of this kind and path
	Site string // of a sync: the functions that made it, "inner+offset < outer+offset …"
	File string // the absolute path, with the random name
}

// Is reports whether c is the same point as that call of another run. The site
// does not count: one file may be synced at a flush or, if that is early, later.
func (c Call) Is(other Call) bool {
	return c.Kind == other.Kind && c.Path == other.Path && c.N == other.N
}

func (c Call) String() string {
	path := c.Path
	if path == "" {
		path = "."
	}
	if c.N > 1 {
		return fmt.Sprintf("%s %s #%d", c.Kind, path, c.N)
	}
	return c.Kind + " " + path
}

// Syncs reports whether c is there to make something durable.
func (c Call) Syncs() bool { return strings.Contains(c.Kind, "sync") }

// Writes reports whether c puts bytes into a file.
func (c Call) Writes() bool { return strings.Contains(c.Kind, "write") }
