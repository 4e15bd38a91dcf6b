package access

import (
	"context"
	"fmt"
	"os"

	"ctxfs/backing"
	"ctxfs/entries"
	"ctxfs/housekeeping"
)

// Housekeeping keeps the store in order, see [housekeeping.Keeper.Do], of
// which the daemon has its own.
type Housekeeping interface {
	Housekeep(ctx context.Context, r housekeeping.Request, emit func(housekeeping.Event) error) error
}

var _, _ Housekeeping = (*Store)(nil), (*Mount)(nil)

// Housekeep implements [Housekeeping]: in this process.
func (s *Store) Housekeep(ctx context.Context, r housekeeping.Request, emit func(housekeeping.Event) error) error {
	room, err := s.opened(ctx, "")
	if err != nil {
		return err
	}
	e, ok := room.(*entries.Entries)
	if !ok {
		return fmt.Errorf("the room at the top is a %T", room)
	}
	return (&housekeeping.Keeper{Store: s.store, Entries: e}).Do(ctx, r, emit, nil)
}

// Housekeep implements [Housekeeping]: the daemon does it, and stops when this
// process ends.
func (m *Mount) Housekeep(ctx context.Context, r housekeeping.Request, emit func(housekeeping.Event) error) error {
	var control *os.File
	err := m.at("ask for housekeeping through", backing.Own+"/"+housekeeping.ControlFile, func(top *os.Root, name string) (err error) {
		control, err = top.OpenFile(name, os.O_RDWR, 0)
		return err
	})
	if err != nil {
		return err
	}
	defer control.Close()
	return housekeeping.Ask(control, r, emit)
}
