package torture

import (
	"fmt"
	"os"
	"sync"
	"text/tabwriter"
)

// table is what was tried and what held.
var table report

type report struct {
	mu   sync.Mutex // guards rows
	rows []row
}

type row struct {
	what        string
	tried, held int
	note        string
}

func (r *report) add(what string, tried, held int, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row{what, tried, held, note})
}

// print writes the table to the file named in CTXFS_TORTURE_TABLE, if any.
func (r *report) print() {
	name := os.Getenv("CTXFS_TORTURE_TABLE")
	if name == "" {
		return
	}
	f, err := os.Create(name)
	if err == nil {
		w := tabwriter.NewWriter(f, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "what\ttried\theld\t")
		for _, row := range r.rows {
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", row.what, row.tried, row.held, row.note)
		}
		if err = w.Flush(); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the table is not written:", err)
	}
}
