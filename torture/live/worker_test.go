package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A process of the tests with workEnv is one that works on a mount as it says.
const workEnv = "CTXFS_LIVE_WORK"

// work is what one process is to do.
type work struct {
	Mount  string
	Number int
	Run    int // names differ between runs
	Seed   uint64
	For    time.Duration // how long it works on, after a few operations
	Ends   bool          // the mount may end meanwhile, and the work then
}

// done is what it says when it has ended.
type done struct {
	Acked map[string][]string // what was acknowledged, by path
	Tried map[string][]string // and what failed, or was underway when the mount ended
	Took  map[string][]int64  // of each operation, microseconds
	Wrong []string            // what must not be
}

const (
	hotVariables = 6
	atWork       = "at work" // said when some operations are done
	begun        = 8         // so many
)

func hotVariable(i int) string { return fmt.Sprintf("vars/global/hot%d", i%hotVariables) }

// name is the agent that the process is.
func (w work) name() string { return fmt.Sprintf("w%02dr%d", w.Number, w.Run) }

type worker struct {
	work
	done
	rand   *rand.Rand
	agent  string
	own    []string // entries that only this one writes, from the mount's top
	hot    heat
	serial int
	deep   int  // of slow reads
	ended  bool // the mount has
}

// worked is the process.
func worked(text string) error {
	w := worker{done: done{Acked: map[string][]string{}, Tried: map[string][]string{}, Took: map[string][]int64{}}}
	if err := json.Unmarshal([]byte(text), &w.work); err != nil {
		return err
	}
	w.rand = rand.New(rand.NewPCG(w.Seed, uint64(w.Number)))
	w.agent = w.name()
	if err := os.Mkdir(w.at(w.agent), 0o755); err != nil {
		return err
	}
	w.do(operation{"create", (*worker).create})
	w.do(operation{"new hot entries", (*worker).heat})
	for i := 1; i <= begun && !w.ended; i++ {
		w.any()
	}
	fmt.Println(atWork)
	until := time.Now().Add(w.For)
	for time.Now().Before(until) && !w.ended && len(w.Wrong) < 20 {
		if w.hot.saves >= turn {
			w.do(operation{"new hot entries", (*worker).nextHot})
		}
		w.any()
	}
	return json.NewEncoder(os.Stdout).Encode(w.done)
}

func (w *worker) at(path string) string { return filepath.Join(w.Mount, path) }

// next names what is written next.
func (w *worker) next() string {
	w.serial++
	return fmt.Sprintf("%s-%d", w.agent, w.serial)
}

// operation is one thing that processes do.
type operation struct {
	name string
	do   func(*worker) error
}

// operations are done as often as they stand here.
func operations() []operation {
	create, overwrite := operation{"create", (*worker).create}, operation{"overwrite", (*worker).overwrite}
	read, get := operation{"read slowly", (*worker).readEntry}, operation{"get slowly", (*worker).get}
	set := operation{"set variable", (*worker).set}
	return []operation{create, create, overwrite, overwrite, overwrite, overwrite, read, read, read, get, get, set, set, set,
		{"append to entry", (*worker).appendEntry},
		{"rename onto entry", (*worker).renameOnto},
		{"read mapped", (*worker).readMapped},
		{"promote variable", (*worker).promote},
		{"append to stream", (*worker).appendStream},
		{"invocation", (*worker).invocation},
		{"add entry to memory", (*worker).addEntry},
		{"put context", (*worker).putContext},
		{"tool result", (*worker).result},
		{"readdir", (*worker).readdir},
		{"readdir", (*worker).readdirHot},
		{"rg", (*worker).rg},
	}
}

func (w *worker) any() {
	all := operations()
	w.do(all[w.rand.IntN(len(all))])
}

// do does one operation, takes its time, and notes what was wrong.
func (w *worker) do(o operation) {
	nested := w.deep
	began := time.Now()
	err := o.do(w)
	if err == nil && nested == w.deep {
		w.Took[o.name] = append(w.Took[o.name], time.Since(began).Microseconds())
	}
	switch {
	case err == nil:
	case w.Ends && gone(err):
		w.ended = true
	default:
		w.Wrong = append(w.Wrong, fmt.Sprintf("%s, %s: %v", w.agent, o.name, err))
	}
}

// gone reports whether err is what a program sees of a mount that has ended.
func gone(err error) bool {
	for _, errno := range []error{syscall.ENOTCONN, syscall.ECONNABORTED, syscall.ENOENT} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// note remembers what became of a write.
func (w *worker) note(path, id string, err error) error {
	if err == nil {
		w.Acked[path] = append(w.Acked[path], id)
	} else {
		w.Tried[path] = append(w.Tried[path], id)
	}
	w.hot.count(path)
	return err
}

// write is `cat > path`, or with flags `cat >> path`, in writes of any size.
func (w *worker) write(path, text string, flags int) error {
	f, err := os.OpenFile(w.at(path), os.O_WRONLY|os.O_CREATE|flags, 0o644)
	if err != nil {
		return err
	}
	for len(text) > 0 && err == nil {
		n := len(text)
		if flags&os.O_APPEND == 0 {
			n = min(n, 1+w.rand.IntN(20_000))
		}
		_, err = f.WriteString(text[:n])
		text = text[n:]
	}
	return errors.Join(err, f.Close())
}

// size is mostly small, and sometimes many pages.
func (w *worker) size() int {
	if w.rand.IntN(12) == 0 {
		return 20_000 + w.rand.IntN(80_000)
	}
	return 200 + w.rand.IntN(6_000)
}
