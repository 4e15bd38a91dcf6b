package live

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func (w *worker) create() error {
	id := w.next()
	path := fmt.Sprintf("%s/20260222T100000-own%d.md", w.agent, w.serial)
	err := w.note(path, id, w.write(path, w.entryText(id, true), os.O_EXCL))
	if err == nil {
		w.own = append(w.own, path)
	}
	return err
}

// some is an entry of its own or, mostly, one that all write.
func (w *worker) some() string {
	if w.rand.IntN(3) == 0 {
		return w.own[w.rand.IntN(len(w.own))]
	}
	return w.hot.any(w.rand)
}

func (w *worker) overwrite() error {
	path, id := w.some(), w.next()
	return w.note(path, id, w.write(path, w.entryText(id, w.rand.IntN(2) == 0), os.O_TRUNC))
}

func (w *worker) appendEntry() error {
	path, id := w.some(), w.next()
	return w.note(path, id, w.write(path, "note "+id+"\n", os.O_APPEND))
}

func (w *worker) renameOnto() error {
	path, id := w.some(), w.next()
	part := fmt.Sprintf("%s.tmp.%s", path, id)
	if err := w.write(part, w.entryText(id, w.rand.IntN(2) == 0), os.O_EXCL); err != nil {
		return err
	}
	return w.note(path, id, os.Rename(w.at(part), w.at(path)))
}

func (w *worker) set() error {
	path, id := w.variable(), w.next()
	return w.note(path, id, w.write(path, sealed(w.rand, id, w.size()), os.O_TRUNC))
}

// variable is one that all write, or one of this process's session or agent.
func (w *worker) variable() string {
	i := w.rand.IntN(hotVariables)
	switch w.rand.IntN(6) {
	case 0:
		return fmt.Sprintf("vars/session:%s/v%d", w.agent, i)
	case 1:
		return fmt.Sprintf("vars/self/v%d", i)
	}
	return hotVariable(i)
}

func (w *worker) promote() error {
	id, path := w.next(), hotVariable(w.rand.IntN(hotVariables))
	own := "vars/agent:" + w.agent + "/promoted"
	if err := w.write(own, sealed(w.rand, id, w.size()), os.O_TRUNC); err != nil {
		return err
	}
	return w.note(path, id, os.Rename(w.at(own), w.at(path)))
}

const stream = "vars/global/stream"

func (w *worker) appendStream() error {
	id := w.next()
	return w.note(stream, id, w.write(stream, id+"\n", os.O_APPEND))
}

const history = "invocations/context.jsonl"

func (w *worker) invocation() error {
	id := w.next()
	return w.note(history, id, w.write(history, fmt.Sprintf(`{"tool_name":"load","params":{"save":%q},"result":null,"summary":"load"}`+"\n", id), os.O_APPEND))
}

const memory = "memories/hot"

// addEntry may be told that the memory's queue is full.
func (w *worker) addEntry() error {
	id, path := w.next(), memory+"/entries.jsonl"
	err := w.note(path, id, w.write(path, fmt.Sprintf(`{"rawEntry":%q}`+"\n", id), os.O_APPEND))
	if errors.Is(err, syscall.EAGAIN) {
		return nil
	}
	return err
}

func (w *worker) putContext() error {
	id, path := w.next(), memory+"/context.md"
	err := w.note(path, id, w.write(path, sealed(w.rand, id, w.size()), os.O_TRUNC))
	if errors.Is(err, syscall.EAGAIN) {
		return nil
	}
	return err
}

// result saves a tool's result and clears it again.
func (w *worker) result() error {
	path := fmt.Sprintf("results/%s-load-%d.json", w.agent, w.serial+1)
	id := w.next()
	text := fmt.Sprintf(`{"toolName":"load","args":{},"result":%q,"timestamp":"2026-02-22T10:00:00Z","queryId":"q","sessionId":%q}`, id, w.agent)
	if err := w.write(path, text, os.O_EXCL); err != nil {
		return err
	}
	got, err := os.ReadFile(w.at(path))
	if err == nil && string(got) != text {
		err = fmt.Errorf("%s is %.200q", path, got)
	}
	return errors.Join(err, os.Remove(w.at(path)))
}
