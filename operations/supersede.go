package operations

import (
	"bytes"
	"context"
	"fmt"

	"ctxfs/access"
	"ctxfs/codec"
)

// Supersede says that the entry at after takes the place of that at before.
func (a *Actor) Supersede(ctx context.Context, before, after string) error {
	if before == after {
		return badArgument(fmt.Errorf("%q cannot supersede itself", before))
	}
	if _, err := a.Stat(ctx, before); err != nil {
		return fmt.Errorf("the entry to be superseded: %w", err)
	}
	text, err := access.ReadAll(ctx, a, after)
	if err != nil {
		return fmt.Errorf("the entry that supersedes it: %w", err)
	}
	changed, err := codec.AddSupersedes(text, before)
	if err != nil {
		return fmt.Errorf("%s: %w", after, err)
	}
	if bytes.Equal(changed, text) {
		return nil
	}
	return a.Write(ctx, after, bytes.NewReader(changed), nil)
}
