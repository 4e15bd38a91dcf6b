package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, dir := range []string{"hot", memory} {
		if err := os.Mkdir(w.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range hotEntries {
		path, id := hotEntry(i), w.next()
		if err := w.note(path, id, w.write(path, entryText(w.rand, w.agent, id, 3000, true), os.O_EXCL)); err != nil {
			t.Fatal(err)
		}
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

// load is how much is done.
type load struct {
	race      bool
	processes int
	work      work
}

func loads() []load {
	if *full {
		return []load{{false, 64, work{For: *long}}, {true, 64, work{For: *long}}}
	}
	return []load{{raced(), 8, work{Rounds: 25}}}
}

func TestManyProcessesTearAndLoseNothing(t *testing.T) {
	needRoot(t)
	for _, l := range loads() {
		t.Run(fmt.Sprintf("race=%v", l.race), func(t *testing.T) {
			d := start(t, l.race, t.TempDir())
			idle, err := d.Figures()
			if err != nil {
				t.Fatal(err)
			}
			all := prepare(t, d)
			for l.work.Run = range 2 {
				l.work.Mount, l.work.Seed = d.Point, *seed+uint64(l.work.Run)
				finish(t, begin(t, l.processes, l.work), &all)
				returns(t, d, idle)
			}
			for _, wrong := range all.Wrong {
				t.Error(wrong)
			}
			tried, held := check(t, d.Point, all)
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			files, err := all.litter(d.Store)
			if err != nil {
				t.Error(err)
			}
			table.Add("load: files in the store that belong there", files, files-errorsIn(err), "nothing staged, refused, spilled; a version for each overwrite")
			note := fmt.Sprintf("%d processes, %d operations, race detector %v", l.processes, operationsOf(all), l.race)
			table.Add("load: objects that are whole and complete", tried, held, note)
			table.Add("load: processes that saw nothing wrong", 2*l.processes, 2*l.processes-len(all.Wrong), "no torn read, no error")
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

// check looks at what is there against what was acknowledged.
func check(t *testing.T, mount string, all done) (tried, held int) {
	t.Helper()
	judge := func(path string, err error) {
		tried++
		if err == nil {
			held++
			return
		}
		t.Errorf("%s: %v", path, err)
	}
	for path, acked := range all.Acked {
		switch {
		case filepath.Ext(path) == ".md" && filepath.Dir(path) != memory:
			judge(path, all.entry(mount, path))
		case path == stream || path == history || filepath.Dir(path) == memory && filepath.Ext(path) == ".jsonl":
			judge(path, all.lines(mount, path, acked))
		case filepath.Dir(path) == "vars/global":
			b, err := os.ReadFile(filepath.Join(mount, path))
			if err == nil {
				err = checkSealed(b)
			}
			judge(path, err)
		}
	}
	return tried, held
}
