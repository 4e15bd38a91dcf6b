package torture

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"ctxfs/backing"
	"ctxfs/invocations"
	"ctxfs/variables"
)

// operation is something that a user of the store does, and waits for.
type operation struct {
	name string
	// before makes what is there already.
	before func(w *world) error
	do     func(w *world) error
	// debris spoils the closed store before the operation; may be nil.
	debris func(dir string) error
	// adds: doing it twice leaves something else than doing it once.
	adds bool
	// opens: the operation is the opening of the store itself.
	opens bool
	// parts: it changes several objects, of which a crash may leave some old
	// and some new until it is done again.
	parts bool
	// pieces: also an error may leave some done; what goes is archived before.
	pieces bool
	// queued: it is visible before it is on disk.
	queued bool
	// stays is what may be left where its removal fails, by its snapshot's name.
	stays string
	// slow operations run in part only, but for the full run.
	slow bool
}

const head = "---\nagent: alice\nsessionId: s1\ntimestamp: 2026-02-21T14:30:22Z\ntype: finding\ntags: [a]\n%s---\n\n# %s\n\n%s\n"

func entry(title, text, fields string) string { return fmt.Sprintf(head, fields, title, text) }

func path(slug string) string { return "alice/20260221T143022-" + slug + ".md" }

var long = strings.Repeat("A line of an entry that is longer than one page of memory.\n", 200)

func nothing(*world) error { return nil }

func inAlice(then func(w *world) error) func(*world) error {
	return each(step(func(w *world) error { return w.mkdir("alice") }), then)
}

func saves(slug, title, text, fields string) func(*world) error {
	return inAlice(step(func(w *world) error { return w.save(path(slug), entry(title, text, fields)) }))
}

func each(steps ...func(*world) error) func(*world) error {
	return func(w *world) error {
		for _, step := range steps {
			if err := step(w); err != nil {
				return err
			}
		}
		return nil
	}
}

func sets(key, value string, o variables.SetOptions) func(*world) error {
	return step(func(w *world) error {
		_, err := w.vars.Set(ctx, key, value, o)
		return err
	})
}

func adds(memory, text string) func(*world) error {
	return step(func(w *world) error {
		_, err := w.mems.AddEntry(ctx, memory, fmt.Appendf(nil, `{"rawEntry":%q}`, text))
		return err
	})
}

func puts(memory, text string) func(*world) error {
	return step(func(w *world) error {
		return errors.Join(w.mems.PutContext(ctx, memory, text), w.mems.AwaitConsistency(ctx, memory))
	})
}

func invokes(tool string) func(*world) error {
	return step(func(w *world) error {
		_, err := w.history.Append(ctx, invocations.Entry{ToolName: tool, Params: []byte(`{"q":"` + tool + `"}`)})
		return errors.Join(err, w.history.Sync(ctx))
	})
}

var operations = []operation{
	{name: "create", before: inAlice(nothing), do: saves("create", "New", "Text.", "")},
	{name: "overwrite", before: saves("over", "Old", "Old text.", ""), do: saves("over", "New", "New text.\n"+long, "")},
	{name: "overwrite again", before: each(saves("again", "Old", "1", ""), saves("again", "Old", "2", "")),
		do: saves("again", "New", "3", ""), slow: true},
	{name: "supersede", before: saves("old", "Old", "Old text.", ""),
		do: saves("new", "New", "New text.", "supersedes: ["+path("old")+"]\n"), parts: true, slow: true},
	{name: "rename onto", before: each(saves("onto", "Old", "Old text.", ""), step(func(w *world) error {
		return w.plain("alice/onto.tmp", entry("New", "New text.", ""))
	})), do: renames("alice/onto.tmp", path("onto")), parts: true, stays: "entry alice/onto.tmp", slow: true},
	{name: "session", before: inAlice(nothing), do: step(func(w *world) error { return w.mkdir("alice/s7") }), slow: true},
	{name: "set variable", before: sets("k", "old", variables.SetOptions{}), do: sets("k", "new", variables.SetOptions{}), slow: true},
	{name: "set variable of a new type", before: sets("t", "old", variables.SetOptions{Type: variables.Memory}),
		do: sets("t", "new", variables.SetOptions{Type: variables.Result}), slow: true},
	{name: "promote variable", before: sets("p", "old", variables.SetOptions{Scope: "agent:a", Type: variables.Memory}),
		do: promotes("agent:a", "p"), slow: true},
	{name: "spill", before: nothing, do: sets("s", strings.Repeat("x", 40<<10), variables.SetOptions{Scope: "session:s"}), slow: true},
	{name: "spill of a result", before: nothing, do: step(func(w *world) error {
		_, err := w.results.Session("s1").SaveContext(ctx, "grep", map[string]any{"q": "x"}, strings.Repeat("x", 40<<10), "", "")
		return err
	}), slow: true},
	{name: "invocation", before: invokes("first"), do: invokes("second"), adds: true, slow: true},
	{name: "put context", before: puts("m", "old"), do: puts("m", "new"), parts: true, queued: true, slow: true},
	{name: "add entry", before: each(puts("n", "context"), adds("n", "first")), do: adds("n", "second"), adds: true, slow: true},
	{name: "gc", before: aging, do: step(cleans), parts: true, pieces: true, stays: "entry alice/s7/", slow: true},
	{name: "add entry " + backendName, before: each(puts("b", "context"), adds("b", "first")), do: adds("b", "second"), adds: true, slow: true},
	{name: "open after a crash", before: each(saves("left", "Old", "Old text.", ""), saves("newer", "New", "New text.", "")),
		do: nothing, debris: leaveDebris, opens: true, slow: true},
}

func renames(from, to string) func(*world) error {
	return step(func(w *world) error {
		err := w.entries.Rename(ctx, alice, from, to, 0)
		if errors.Is(err, backing.ErrNotFound) {
			return nil // done before
		}
		return err
	})
}

func promotes(scope variables.Scope, key string) func(*world) error {
	return step(func(w *world) error {
		_, err := w.vars.Promote(ctx, scope, key, variables.Global)
		if errors.Is(err, backing.ErrNotFound) {
			return nil // done before
		}
		return err
	})
}

// leaveDebris makes what a crash may leave: a staged file, a torn line at the
// end of the history, a mark that is promised and not written.
func leaveDebris(dir string) error {
	newer := dir + "/" + path("newer")
	text, err := os.ReadFile(newer)
	if err != nil {
		return err
	}
	marked := strings.Replace(string(text), "tags: [a]\n", "tags: [a]\nlinks: ["+path("left")+"]\nsupersedes: ["+path("left")+"]\n", 1)
	mark := fmt.Sprintf(`{"new":%q,"old":%q,"agent":"alice","time":"2026-02-22T10:00:00Z"}`+"\n", path("newer"), path("left"))
	return errors.Join(
		os.WriteFile(newer, []byte(marked), 0o644),
		os.MkdirAll(dir+"/.ctxfs/log", 0o700),
		os.WriteFile(dir+"/.ctxfs/log/supersede", []byte(mark+`{"new":"ali`), 0o644),
		os.WriteFile(dir+"/.ctxfs/staging/left", []byte("half"), 0o600),
		os.WriteFile(dir+"/invocations/context.jsonl", []byte(`{"tool_name":"whole","params":null,"result":null,"success":true,"summary":null,"timestamp":"2026-02-22T10:00:00Z","id":"7e1c6d7e-3c52-5d8b-a3c5-3c1d43a4b5c6"}`+"\n"+`{"tool_na`), 0o644))
}

// inPlace is how an overwrite must not be done: it is here to be caught.
var inPlace = operation{name: "overwrite in place", before: saves("place", "Old", "Old text.", ""), do: func(w *world) error {
	f, err := w.store.OpenFile(ctx, backing.Key(path("place")), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(entry("New", "New text.", "")), 0)
	return errors.Join(err, f.Sync(), f.Close())
}}

func operationOf(name string) (operation, error) {
	for _, o := range append([]operation{inPlace}, operations...) {
		if o.name == name {
			return o, nil
		}
	}
	return operation{}, fmt.Errorf("there is no operation %q", name)
}
