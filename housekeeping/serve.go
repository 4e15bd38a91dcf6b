package housekeeping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ControlFile is the file in .ctxfs of a mount through which its daemon is
// asked: a [Request] is written to it, [Event]s are read from it, one a line.
const ControlFile = "gc"

// Serve is Do for a request and events in JSON. An error is told as the last
// event too.
func (k *Keeper) Serve(ctx context.Context, request []byte, answer io.Writer, changing func(path string)) error {
	lines := json.NewEncoder(answer)
	emit := func(e Event) error { return lines.Encode(e) }
	var r Request
	err := json.Unmarshal(request, &r)
	if err != nil {
		err = fmt.Errorf("the request is not understood: %w", err)
	} else {
		err = k.Do(ctx, r, emit, changing)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, emit(failed(err)))
}

// Ask is Do in the daemon that reads and answers at the other end of control.
func Ask(control io.ReadWriter, r Request, emit func(Event) error) error {
	request, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := control.Write(request); err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	for lines := json.NewDecoder(control); ; {
		var e Event
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the daemon has ended before the work; do it again, when it is mounted or without a mount")
		}
		if err != nil {
			return fmt.Errorf("read the daemon's answer: %w", err)
		}
		if err := e.err(); err != nil {
			return err
		}
		if err := emit(e); err != nil || e.Done != nil {
			return err
		}
	}
}
