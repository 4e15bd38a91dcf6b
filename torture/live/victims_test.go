package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// victims are clients of a mount whose store is swapped below it. Each of
// their operations may fail; none may reach what lies elsewhere.
type victims struct {
	mount string
	done  []atomic.Int64 // operations of each client

	mu   sync.Mutex      // guards what follows
	bad  map[string]bool // what must not be
	kept []string        // entries that were acknowledged
}

const hot = "victim/20260222T100000-hot.md"

func textOf(id string) string { return fmt.Sprintf(front, id, id+"\n") }

// attempt is one operation, which may fail.
type attempt struct {
	name string
	do   func() error
}

// operations of client i in its turn n, all of them.
func (v *victims) operations(i, n int) []attempt {
	id := fmt.Sprintf("c%dn%d", i, n)
	write := func(path, text string, flags int) func() error {
		return func() error { return v.write(path, text, flags) }
	}
	path := "victim/s/20260222T100000-" + id + ".md"
	if n%2 == 0 {
		path = "victim/20260222T100000-" + id + ".md"
	}
	result := fmt.Sprintf("results/%s-load-%d.json", "s", n)
	big := strings.Repeat("x", 40<<10) // which goes to disk
	return []attempt{
		{"create", func() error { return v.create(path, textOf(id)) }},
		{"overwrite", write(hot, textOf(id), os.O_TRUNC)},
		{"supersede", write("victim/20260222T100000-new"+id+".md", strings.Replace(textOf(id), "tags", "supersedes: ["+hot+"]\ntags", 1), os.O_EXCL)},
		{"append", write(hot, "note\n", os.O_APPEND)},
		{"rename onto", func() error { return v.onto("victim/tmp."+id, hot, textOf(id)) }},
		{"mkdir", func() error { return v.mkdir("victim/"+id, "vars/agent:"+id, "memories/"+id, "victim/s/empty") }},
		{"file", write("victim/"+secret+".txt", id, os.O_TRUNC)},
		{"spoil file", func() error { return v.spoil("victim/" + secret + ".txt") }},
		{"remove", func() error { return v.remove("victim/"+secret+".txt", "victim/empty", "victim/s/empty", result) }},
		{"set", write("vars/global/k", id, os.O_TRUNC)},
		{"set large", write("vars/agent:a/large", id+big, os.O_TRUNC)},
		{"spill", write("vars/session:s/large", id+big, os.O_TRUNC)},
		{"promote", func() error { return v.onto("vars/agent:a/p", "vars/global/p", id) }},
		{"stream", write("vars/global/stream", id+"\n", os.O_APPEND)},
		{"put context", write("memories/m/context.md", id, os.O_TRUNC)},
		{"add entry", write("memories/m/entries.jsonl", `{"rawEntry":"`+id+`"}`+"\n", os.O_APPEND)},
		{"invocation", write(history, `{"tool_name":"`+id+`","params":{},"result":null}`+"\n", os.O_APPEND)},
		{"tool result", write(result, fmt.Sprintf(`{"toolName":"load","args":{},"result":%q,"timestamp":"2026-02-22T10:00:00Z","queryId":"q","sessionId":"s"}`, big), 0)},
		{"list", func() error {
			return v.lists("", "victim", "victim/s", ".ctxfs/versions/"+hot, "vars", "vars/global", "vars/agent:a", "memories", "memories/m", "results", "invocations")
		}},
		{"read", func() error {
			return v.files(hot, path, ".ctxfs/versions/"+hot+"/1", "vars/global/k", "vars/global/p", "vars/agent:a/large", "vars/session:s/large", "vars/global/stream",
				"memories/m/context.md", "memories/m/context.json", "memories/m/entries.jsonl", history)
		}},
		{"read lists", func() error {
			return v.files("vars/global/.list", "vars/global/.summary/k", "vars/self/k", ".ctxfs/errors", "results/.list")
		}},
		{"read secrets", func() error {
			return v.files("victim/20260222T100000-"+secret+".md", "vars/global/"+secret+".json", "results/"+secret+".json", "memories/"+secret+".txt")
		}},
	}
}

// work does everything again and again.
func (v *victims) work(i int, stop chan struct{}) {
	for n := 0; ; n++ {
		for _, a := range v.operations(i, n) {
			select {
			case <-stop:
				return
			default:
			}
			err := a.do()
			v.done[i].Add(1)
			if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
				v.note("%s: %v", a.name, err)
			}
		}
	}
}

func (v *victims) note(format string, a ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.bad == nil {
		v.bad = map[string]bool{}
	}
	v.bad[fmt.Sprintf(format, a...)] = true
}

func (v *victims) wrong() (all []string) {
	for w := range v.bad {
		all = append(all, w)
	}
	return all
}

func (v *victims) at(path string) string { return filepath.Join(v.mount, path) }

func (v *victims) write(path, text string, flags int) error {
	f, err := os.OpenFile(v.at(path), os.O_WRONLY|os.O_CREATE|flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (v *victims) create(path, text string) error {
	err := v.write(path, text, os.O_EXCL)
	if err == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.kept = append(v.kept, path)
	}
	return err
}

func (v *victims) onto(from, to, text string) error {
	return errors.Join(v.write(from, text, os.O_TRUNC), os.Rename(v.at(from), v.at(to)))
}

func (v *victims) mkdir(all ...string) (err error) {
	for _, path := range all {
		err = errors.Join(err, os.Mkdir(v.at(path), 0o755))
	}
	return err
}

func (v *victims) remove(all ...string) (err error) {
	for _, path := range all {
		err = errors.Join(err, os.Remove(v.at(path)))
	}
	return err
}

// spoil does to a file what needs no content.
func (v *victims) spoil(path string) error {
	return errors.Join(os.Chmod(v.at(path), 0o600), os.Truncate(v.at(path), 1), os.Chtimes(v.at(path), time.Time{}, time.Unix(1, 0)),
		os.Chown(v.at(path), 1, 1), os.Rename(v.at(path), v.at(path)+"2"), os.Rename(v.at(path)+"2", v.at(path)))
}

// files reads files, which must not hold the secret.
func (v *victims) files(all ...string) (err error) {
	for _, path := range all {
		b, rerr := os.ReadFile(v.at(path))
		if strings.Contains(string(b), secret) {
			v.note("%s reads %.300q", path, b)
		}
		err = errors.Join(err, rerr)
	}
	return err
}

// lists reads directories, which must not show what is outside only.
func (v *victims) lists(all ...string) (err error) {
	for _, dir := range all {
		found, rerr := names(v.at(dir))
		for _, name := range found {
			if strings.Contains(name, secret) && !strings.HasPrefix(name, secret+".txt") {
				v.note("%s lists %s", dir, name)
			}
		}
		err = errors.Join(err, rerr)
	}
	return err
}

// prepare makes what each target has in it.
func (v *victims) prepare(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"victim", "victim/s", memory, "memories/m"} {
		if err := os.Mkdir(v.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.write(hot, textOf("first"), os.O_EXCL); err != nil {
		t.Fatal(err)
	}
	v.lives(t)
	// The index is there from now on.
	if _, err := os.ReadFile(v.at(".ctxfs/index")); err != nil {
		t.Fatal(err)
	}
}

// lives waits until everything works, as each operation must soon after the
// directories are all in their places.
func (v *victims) lives(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for n := 0; ; n++ {
		var failed []error
		for _, a := range v.operations(len(v.done), n) {
			switch a.name {
			case "remove", "spoil file", "mkdir", "read secrets": // some of which is not there, or is already
			default:
				if err := a.do(); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", a.name, err))
				}
			}
		}
		if len(failed) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("these do not work: %v", failed)
		}
	}
	for _, path := range v.kept {
		if b, err := os.ReadFile(v.at(path)); err != nil || !strings.Contains(string(b), "type: finding") {
			t.Errorf("%s was acknowledged, and is %q, %v", path, b, err)
		}
	}
}
