package tried

import (
	"fmt"
	"os"
	"sync"
)

// FileEnv names the file to which tables are added, one row a line, with tabs
// between its columns. Without it they are not kept.
const FileEnv = "CTXFS_TORTURE_TABLE"

// Table is the rows of one package. It is safe for concurrent use.
type Table struct {
	mu   sync.Mutex // guards rows
	rows []string
}

// Add notes how many cases of something were tried, how many of them held, and
// what there is to say about them.
func (t *Table) Add(what string, tried, held int, note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, fmt.Sprintf("%s\t%d\t%d\t%s\n", what, tried, held, note))
}

// Write adds the rows to the file named by FileEnv.
func (t *Table) Write() error {
	name := os.Getenv(FileEnv)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	defer f.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range t.rows {
		if _, err := f.WriteString(row); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
	}
	return nil
}
