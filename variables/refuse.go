package variables

import (
	"errors"
	"syscall"

	"ctxfs/codec"
	"ctxfs/room"
)

// refuse returns the refusal of what stands at path, relative to this room.
func refuse(errno syscall.Errno, path, field, reason, fix string) *codec.Refusal {
	if path != "" {
		path = roomDir + "/" + path
	}
	return &codec.Refusal{Errno: errno, Path: path, Field: field, Reason: reason, Fix: fix}
}

// deny notes a refusal in the journal and returns it.
func (v *Variables) deny(c room.Caller, err error) error {
	var r *codec.Refusal
	if errors.As(err, &r) {
		v.journal(*r, c)
	}
	return err
}

func (v *Variables) journal(r codec.Refusal, c room.Caller) {
	v.o.Log.Info("refused", "path", r.Path, "errno", r.Errno.Error(), "reason", r.Reason)
	if v.o.Journal != nil {
		v.o.Journal.Refuse(r, c, v.o.Now())
	}
}

// refusalOf is err as a refusal; a fault of the store is told like one.
func refusalOf(err error, n name) codec.Refusal {
	var r *codec.Refusal
	if errors.As(err, &r) {
		return *r
	}
	told := *refuse(syscall.EIO, n.path(), "", "the store could not take it: "+err.Error(),
		"write the variable again when the store works")
	errors.As(err, &told.Errno)
	return told
}
