package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Check reads the whole index at path; an error of which [IsDamaged] is true
// where it is of no use. One that is not there is all right.
func Check(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	var said string
	err = damaged(db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said))
	if err == nil && said != "ok" {
		err = fmt.Errorf("%w: %s", errDamaged, said)
	}
	return errors.Join(err, db.Close())
}

// Remove removes the index at path, which the next [Open] makes anew. Nobody
// may have it open.
func Remove(path string) error { return removeFile(path) }
