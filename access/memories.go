package access

import (
	"log/slog"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
)

// MemoriesIn opens dir, $CONTEXT_DATA_DIR, as the store of the memories, for
// memories.Options; nil where dir is empty.
func MemoriesIn(dir string, log *slog.Logger) func() (backing.Store, error) {
	if dir == "" {
		return nil
	}
	return func() (backing.Store, error) {
		store, err := localdir.Open(dir, localdir.Options{Log: log})
		if err != nil {
			return nil, err
		}
		return store, nil
	}
}
