package live

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// teller is a process of testdata/bank.py at work.
type teller struct {
	cmd   *exec.Cmd
	said  io.Reader
	acked []string      // transactions that were acknowledged
	half  chan struct{} // closed when half of them are done, or it has ended
	wrong bytes.Buffer
}

// newTeller begins n transactions.
func newTeller(db, name string, n int) (*teller, error) {
	w := &teller{cmd: bank("work", db, name, fmt.Sprint(n)), half: make(chan struct{})}
	w.cmd.Stderr = &w.wrong
	var err error
	if w.said, err = w.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return w, w.cmd.Start()
}

// follow reads what the process says until its end.
func (w *teller) follow(n int) error {
	reached := sync.OnceFunc(func() { close(w.half) })
	defer reached()
	lines := bufio.NewScanner(w.said)
	for lines.Scan() {
		w.acked = append(w.acked, lines.Text())
		if len(w.acked) == n/2 {
			reached()
		}
	}
	return w.cmd.Wait()
}

func bank(args ...string) *exec.Cmd {
	return exec.Command("python3", append([]string{"testdata/bank.py"}, args...)...)
}

// checkBank checks that the database is whole and has what was acknowledged.
func checkBank(t *testing.T, db string, tellers []*teller) {
	t.Helper()
	out, err := bank("check", db).CombinedOutput()
	said, rows, _ := strings.Cut(string(out), "\n")
	if err != nil || said != "ok" {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	there := map[string]bool{}
	for row := range strings.Lines(rows) {
		there[strings.TrimSpace(row)] = true
	}
	for _, w := range tellers {
		for i, row := range w.acked {
			if !there[row] && i%5 != 2 { // those were deleted, or are about to be
				t.Errorf("%s was committed, and is not there", row)
			}
		}
	}
}

// modes are the journals that SQLite offers besides none and one in memory.
var modes = []string{"delete", "truncate", "persist", "wal"}

// onDatabases lets four processes work on a database of each mode in a mount,
// calls harm when one has done half of it, which ends the first few of them, and
// checks what is left.
func onDatabases(t *testing.T, few int, harm func(*Daemon, []*teller) error) {
	needRoot(t)
	if !*full {
		return // cmd/ctxfs/testdata/databases.txt is the part for each day
	}
	const n = 200
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			d := start(t, raced(), dir)
			db := filepath.Join(d.Point, "a", "x.db")
			if err := os.Mkdir(filepath.Dir(db), 0o755); err != nil {
				t.Fatal(err)
			}
			if out, err := bank("new", db, mode).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var tellers []*teller
			var wait sync.WaitGroup
			for i := range 4 {
				w, err := newTeller(db, fmt.Sprintf("p%d", i), n)
				if err != nil {
					t.Fatal(err)
				}
				tellers = append(tellers, w)
				wait.Go(func() {
					if err := w.follow(n); err != nil && i >= few {
						t.Errorf("p%d: %v\n%s", i, err, &w.wrong)
					}
				})
			}
			<-tellers[0].half
			if err := harm(d, tellers); err != nil {
				t.Error(err)
			}
			wait.Wait()
			if d.over {
				start(t, raced(), dir)
			}
			checkBank(t, db, tellers)
			count := 0
			for _, w := range tellers {
				count += len(w.acked)
			}
			held := count
			if t.Failed() {
				held = 0
			}
			table.Add(t.Name(), count, held, "acknowledged transactions of 4 processes")
		})
	}
}

func TestADatabaseOutlivesAKilledProgram(t *testing.T) {
	onDatabases(t, 1, func(_ *Daemon, tellers []*teller) error { return tellers[0].cmd.Process.Kill() })
}

func TestADatabaseOutlivesAKilledDaemon(t *testing.T) {
	onDatabases(t, 4, func(d *Daemon, _ []*teller) error { return d.Kill() })
}
