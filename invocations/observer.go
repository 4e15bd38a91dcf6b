package invocations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ctxfs/codec"
	"ctxfs/room"
)

// ToolInvoked is the event that a tool was invoked (reference/5, Recording).
type ToolInvoked struct {
	ToolName  string
	Params    any // written as JSON
	Result    any // written as JSON
	Success   bool
	Summary   string    // "" is "Called <tool>"
	Timestamp time.Time // zero is now
}

// Record appends an event. It is made to be hooked on an event bus, which has
// no use for an error: what goes wrong is logged, and a refusal goes to the
// journal. An event whose params or result are no JSON is recorded with their
// text instead. Safe for concurrent use.
func (h *History) Record(event ToolInvoked) {
	e := Entry{ToolName: event.ToolName, Success: &event.Success, Summary: &event.Summary, Timestamp: event.Timestamp,
		Params: h.value(event.ToolName, event.Params), Result: h.value(event.ToolName, event.Result)}
	if event.Summary == "" {
		called := "Called " + event.ToolName
		e.Summary = &called
	}
	_, err := h.Append(context.Background(), e)
	if err == nil {
		return
	}
	h.o.Log.Error("a tool invocation is not recorded", "tool", event.ToolName, "err", err)
	var r *codec.Refusal
	if errors.As(err, &r) {
		h.journal(*r, room.Caller{})
	}
}

// value is v as JSON.
func (h *History) value(tool string, v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		h.o.Log.Warn("a value of a tool invocation is recorded as text", "tool", tool, "err", err)
		return quoted(fmt.Sprint(v))
	}
	return b.Bytes()
}
