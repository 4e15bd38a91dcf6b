package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/codec"
	"ctxfs/housekeeping"
	"ctxfs/variables"
)

// mounted is an operation through a mount, and what a program does for it.
type mounted struct {
	operation
	file    string // whose content changes; "" where it is none
	program func(mount string) error
	// session: what it makes ends with the mount.
	session bool
}

// writes is `cat > file`.
func writes(file, text string) func(mount string) error {
	return func(mount string) error { return os.WriteFile(filepath.Join(mount, file), []byte(text), 0o644) }
}

// syncs writes with flags, and asks for it to be on disk before it closes.
func syncs(file, text string, flags int) func(mount string) error {
	return func(mount string) error {
		f, err := os.OpenFile(filepath.Join(mount, file), os.O_WRONLY|flags, 0o644)
		if err != nil {
			return err
		}
		if _, err = f.WriteString(text); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
}

// moves is `mv`, or finds it done: what was told as failed, because its sync
// had failed, is announced after the answer.
func moves(from, to string) func(mount string) error {
	return func(mount string) error {
		err := os.Rename(filepath.Join(mount, from), filepath.Join(mount, to))
		for end := time.Now().Add(slowPatience); errors.Is(err, os.ErrNotExist) && time.Now().Before(end); {
			_, err = os.Stat(filepath.Join(mount, to))
		}
		return err
	}
}

// typed writes a new variable that has a type before it has a value.
func typed(file, typ, text string) func(mount string) error {
	return func(mount string) error {
		f, err := os.OpenFile(filepath.Join(mount, file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		err = unix.Fsetxattr(int(f.Fd()), variables.XattrType, []byte(typ), 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		return errors.Join(err, f.Close())
	}
}

func retypes(file, typ string) func(mount string) error {
	return func(mount string) error {
		return unix.Setxattr(filepath.Join(mount, file), variables.XattrType, []byte(typ), 0)
	}
}

// collects is `ctxfs gc` beside a mount.
func collects(mount string) error {
	control, err := os.OpenFile(filepath.Join(mount, ".ctxfs", housekeeping.ControlFile), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = housekeeping.Ask(control, housekeeping.Request{Keep: codec.Retentions{Default: keeps}},
		func(housekeeping.Event) error { return nil })
	return errors.Join(err, control.Close())
}

const invocation = `{"tool_name":"second","params":null,"result":null,"id":"7e1c6d7e-3c52-5d8b-a3c5-3c1d43a4b5c6"}` + "\n"

var onMount = []mounted{
	{operation: operation{name: "create", before: inAlice(nothing)},
		file: path("create"), program: writes(path("create"), entry("New", "Text.", ""))},
	{operation: operation{name: "overwrite", before: saves("over", "Old", "Old text.", "")},
		file: path("over"), program: writes(path("over"), entry("New", "New text.\n"+long, ""))},
	{operation: operation{name: "supersede", before: saves("old", "Old", "Old text.", ""), parts: true, slow: true},
		file: path("new"), program: writes(path("new"), entry("New", "New text.", "supersedes: ["+path("old")+"]\n"))},
	{operation: operation{name: "rename onto", before: each(saves("onto", "Old", "Old text.", ""), step(func(w *world) error {
		return w.plain("alice/onto.tmp", entry("New", "New text.", ""))
	})), parts: true, stays: "entry alice/onto.tmp", slow: true}, file: path("onto"), program: moves("alice/onto.tmp", path("onto"))},
	{operation: operation{name: "session", before: inAlice(nothing), slow: true},
		program: func(mount string) error {
			if err := os.Mkdir(filepath.Join(mount, "alice/s7"), 0o755); !errors.Is(err, os.ErrExist) {
				return err
			}
			return nil
		}},
	{operation: operation{name: "set variable", before: sets("k", "old", variables.SetOptions{}), slow: true},
		file: "vars/global/k", program: writes("vars/global/k", "new")},
	{operation: operation{name: "set variable of a new type", before: nothing, slow: true},
		file: "vars/global/t", program: typed("vars/global/t", "result", "new")},
	{operation: operation{name: "change a variable's type", before: sets("t", "old", variables.SetOptions{Type: variables.Memory}), slow: true},
		program: retypes("vars/global/t", "result")},
	{operation: operation{name: "promote variable", before: sets("p", "old", variables.SetOptions{Scope: "agent:a", Type: variables.Memory}), slow: true},
		program: moves("vars/agent:a/p", "vars/global/p")}, // a failed sync may leave the old or the new
	{operation: operation{name: "spill", before: nothing, slow: true}, session: true,
		file: "vars/session:s/s", program: writes("vars/session:s/s", strings.Repeat("x", 40<<10))},
	{operation: operation{name: "spill of a result", before: nothing, slow: true}, session: true,
		file: "results/s1-t-1.json", program: writes("results/s1-t-1.json", fmt.Sprintf(strings.Replace(slowResult, `"r"`, `"`+strings.Repeat("r", 40<<10)+`"`, 1), "s1"))},
	{operation: operation{name: "put context", before: puts("m", "old"), parts: true, queued: true, slow: true},
		file: "memories/m/context.md", program: syncs("memories/m/context.md", "new", os.O_TRUNC)},
	{operation: operation{name: "add entry", before: each(puts("n", "context"), adds("n", "first")), adds: true, slow: true},
		file: "memories/n/entries.jsonl", program: syncs("memories/n/entries.jsonl", `{"rawEntry":"second"}`+"\n", os.O_APPEND)},
	{operation: operation{name: "invocation", before: invokes("first"), adds: true, slow: true},
		file: "invocations/context.jsonl", program: syncs("invocations/context.jsonl", invocation, os.O_APPEND)},
	{operation: operation{name: "gc", before: aging, parts: true, pieces: true, stays: "entry alice/s7/", slow: true},
		program: collects},
}
