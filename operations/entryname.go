package operations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxSeconds is how far a name may lie ahead because others have the seconds
// before it.
const maxSeconds = 60

// freeName takes a name in dir that nobody else has. Where a daemon serves
// the store the name is taken by an empty file, which the entry then fills;
// here, only this process writes.
func (a *Actor) freeName(ctx context.Context, dir, slug string, now time.Time) (path string, at time.Time, err error) {
	if a.Point != "" {
		if err := os.MkdirAll(filepath.Join(a.Point, dir), 0o755); err != nil {
			return "", now, err
		}
	}
	for n := range maxSeconds {
		at = now.Add(time.Duration(n) * time.Second)
		path = dir + "/" + entryName(at, slug)
		_, err = a.Stat(ctx, path)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", at, err
		case a.Point == "":
			return path, at, nil
		}
		file, err := os.OpenFile(filepath.Join(a.Point, path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			return path, at, file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", at, err
		}
	}
	return "", at, fmt.Errorf("%s and the %d names after it are taken", path, maxSeconds)
}
