package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// prepare makes what all processes write.
func prepare(t *testing.T, d *Daemon) done {
	t.Helper()
	w := worker{work: work{Mount: d.Point}, done: done{Acked: map[string][]string{}, Tried: map[string][]string{}},
		rand: rand.New(rand.NewPCG(*seed, 0)), agent: "first"}
	if err := os.Mkdir(w.at(memory), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range hotVariables {
		path, id := hotVariable(i), w.next()
		if err := w.note(path, id, w.write(path, sealed(w.rand, id, 3000), os.O_EXCL)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.appendStream(); err != nil { // which makes it one
		t.Fatal(err)
	}
	return w.done
}

// process is one that works.
type process struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	name string
}

// begin starts the processes, and returns when each is at work.
func begin(t *testing.T, n int, w work) []process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []process
	for i := range n {
		w.Number = i
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), workEnv+"="+string(text), "CTXFS_AGENT="+w.name(), "SFA_SESSION_ID=s"+w.name(), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, process{cmd, bufio.NewReader(out), w.name()})
	}
	for _, p := range all {
		if line, err := p.out.ReadString('\n'); line != atWork+"\n" {
			t.Fatalf("%s says %q, %v", p.name, line, err)
		}
	}
	return all
}

// finish waits for the processes, and joins what they did to all.
func finish(t *testing.T, processes []process, all *done) {
	t.Helper()
	for _, p := range processes {
		text, err := io.ReadAll(p.out)
		if werr := p.cmd.Wait(); err == nil {
			err = werr
		}
		var one done
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			t.Errorf("%s: %v; it said %.500q", p.name, err, text)
			continue
		}
		all.join(one)
	}
}

func (d *done) join(one done) {
	for path, ids := range one.Acked {
		d.Acked[path] = append(d.Acked[path], ids...)
	}
	for path, ids := range one.Tried {
		d.Tried[path] = append(d.Tried[path], ids...)
	}
	if d.Took == nil {
		d.Took = map[string][]int64{}
	}
	for op, took := range one.Took {
		d.Took[op] = append(d.Took[op], took...)
	}
	d.Wrong = append(d.Wrong, one.Wrong...)
}

const (
	processes = 64 // that work at once
	few       = 8  // that did so before
)

// howLong is for how long they do so with each build.
func howLong() time.Duration {
	switch {
	case *long > 0:
		return *long
	case *full:
		return 10 * time.Minute
	}
	return 30 * time.Second
}

// tested are the builds of the command that are tried, with the race detector
// or without: of a bounded run the one that the tests have.
func tested() []bool {
	if *full {
		return []bool{false, true}
	}
	return []bool{raced()}
}

func TestManyProcessesTearAndLoseNothing(t *testing.T) {
	needRoot(t)
	for _, race := range tested() {
		t.Run(fmt.Sprintf("race=%v", race), func(t *testing.T) {
			d := start(t, race, t.TempDir(), "--agent", late)
			idle, err := d.Figures()
			if err != nil {
				t.Fatal(err)
			}
			all := prepare(t, d)
			for run, n := range []int{few, processes} {
				w := work{Mount: d.Point, Run: run, Seed: *seed + uint64(run)}
				if n == processes {
					w.For = howLong()
				}
				finish(t, begin(t, n, w), &all)
				returns(t, d, idle)
			}
			for _, wrong := range all.Wrong {
				t.Error(wrong)
			}
			ended := time.Now()
			tried, held := check(t, d.Point, all)
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			files, err := all.litter(d.Store)
			if err != nil {
				t.Error(err)
			}
			t.Logf("the check took %v", time.Since(ended).Round(time.Millisecond))
			table.Add("load: files in the store that belong there", files, files-errorsIn(err), "nothing staged, refused, spilled; a version for each overwrite")
			note := fmt.Sprintf("%d processes, %v, %d operations, race detector %v", processes, howLong(), operationsOf(all), race)
			table.Add("load: objects that are whole and complete", tried, held, note)
			table.Add("load: processes that saw nothing wrong", few+processes, few+processes-len(all.Wrong), "no torn read, no error")
			latencies(t, all)
		})
	}
}

// slack is what may come and go in an idle daemon: readers of /dev/fuse,
// connections of the index. What leaks at each of thousands of operations is
// more. Of the contents in the store none may stay open.
const slack = 40

// returns waits until the daemon is as it was when it was idle.
func returns(t *testing.T, d *Daemon, idle Figures) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := d.Figures()
		if err != nil {
			t.Error(err)
			return
		}
		if now.Nodes <= idle.Nodes && now.Drafts == 0 && now.Goroutines <= idle.Goroutines+slack &&
			now.Files <= idle.Files+slack && len(now.Held) == 0 {
			t.Logf("nodes %d, goroutines %d, descriptors %d; when idle before: %d, %d, %d",
				now.Nodes, now.Goroutines, now.Files, idle.Nodes, idle.Goroutines, idle.Files)
			if now.Faults != 0 {
				t.Errorf("%d requests panicked: %s", now.Faults, d.Log())
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("the daemon has %+v, and had %+v when it was idle", now, idle)
			return
		}
	}
}

// errorsIn is how many errors were joined to err.
func errorsIn(err error) int {
	if err == nil {
		return 0
	}
	return 1 + strings.Count(err.Error(), "\n")
}

func operationsOf(all done) (n int) {
	for _, took := range all.Took {
		n += len(took)
	}
	return n
}

// latencies prints how long the operations took.
func latencies(t *testing.T, all done) {
	t.Helper()
	for _, op := range slices.Sorted(func(yield func(string) bool) {
		for op := range all.Took {
			if !yield(op) {
				return
			}
		}
	}) {
		took := all.Took[op]
		slices.Sort(took)
		at := func(percent int) time.Duration {
			return time.Duration(took[(len(took)-1)*percent/100]) * time.Microsecond
		}
		line := fmt.Sprintf("p50 %v, p90 %v, p99 %v, max %v", at(50), at(90), at(99), at(100))
		t.Logf("%-20s %6d times, %s", op, len(took), line)
		table.Add("latency: "+op, len(took), len(took), line)
	}
}
