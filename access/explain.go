package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/codec"
)

// refused is what a line of .ctxfs/errors says.
type refused struct {
	Time   time.Time `json:"time"`
	Path   string    `json:"path"`
	Errno  string    `json:"errno"`
	Line   int       `json:"line"`
	Field  string    `json:"field"`
	Reason string    `json:"reason"`
	Fix    string    `json:"fix"`
}

// explain turns the errno in err into the refusal behind it, if the mount
// tells of one of that path and errno since began. Otherwise it returns err.
func (m *Mount) explain(top *os.Root, began time.Time, err error, paths ...string) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) || errno == syscall.ENOENT {
		return err
	}
	text, readErr := top.ReadFile(backing.Own + "/errors")
	if readErr != nil {
		return err // without the reason, then
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	began = began.Truncate(time.Millisecond) // as the journal's times are
	for _, line := range slices.Backward(lines) {
		var r refused
		if json.Unmarshal(line, &r) != nil || r.Time.Before(began) {
			continue
		}
		if r.Errno == unix.ErrnoName(errno) && slices.Contains(paths, r.Path) {
			return &codec.Refusal{Errno: errno, Path: r.Path, Line: r.Line, Field: r.Field, Reason: r.Reason, Fix: r.Fix}
		}
	}
	return err
}
