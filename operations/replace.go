package operations

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ctxfs/codec"
	"ctxfs/variables"
)

// Attributes are those of a variable that is set: its type where typ is not
// "", and that it survives its session where persist is set. *ArgumentError.
func Attributes(typ string, persist bool) (map[string]string, error) {
	attrs := map[string]string{}
	if typ != "" {
		t, err := variables.ParseType(typ)
		if err != nil {
			return nil, badArgument(err)
		}
		attrs[variables.XattrType] = string(t)
	}
	if persist {
		attrs[variables.XattrPersist] = "1"
	}
	return attrs, nil
}

// wholeAtMost is how much of a content is read before the variable is opened
// for writing, in bytes.
const wholeAtMost = 1 << 20

// Replace makes content the value of v, or leaves the old one. A content that
// is still coming, and one that becomes json where the old value does not
// parse, is put together under a name of its own first.
func (a *Actor) Replace(ctx context.Context, v Variable, content io.Reader, attrs map[string]string) error {
	head := make([]byte, wholeAtMost)
	n, err := io.ReadFull(content, head)
	begun := io.MultiReader(bytes.NewReader(head[:n]), content)
	switch {
	case err == nil:
		return a.replaceByRename(ctx, v, begun, attrs)
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read the value: %w", err)
	}
	if attrs[variables.XattrType] == string(variables.JSON) {
		old, err := a.GetXattr(ctx, v.Path(), variables.XattrType)
		if err == nil && string(old) != string(variables.JSON) {
			return a.replaceByRename(ctx, v, begun, attrs)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return a.Write(ctx, v.Path(), begun, attrs)
}

func (a *Actor) replaceByRename(ctx context.Context, v Variable, content io.Reader, attrs map[string]string) error {
	// The key's end says the type.
	key := "tmp-" + rand.Text()[:12] + "-" + v.Key
	if cut := len(key) - variables.MaxKey; cut > 0 {
		key = "tmp-" + rand.Text()[:12] + "-" + v.Key[cut:]
	}
	temp := v.in(key)
	err := a.Write(ctx, temp, content, attrs)
	if err == nil {
		err = a.moveOver(ctx, temp, v.Path(), attrs)
	}
	if err == nil {
		return nil
	}
	clean := context.WithoutCancel(ctx)
	for _, left := range []string{temp, temp + ".rej"} {
		if gone := a.Remove(clean, left); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if refused := (*codec.Refusal)(nil); errors.As(err, &refused) {
		refused.Path = v.Path()
	}
	return err
}

// moveOver renames temp to path. What is there would hand its type on to a
// value whose type follows from its key, so that is said of the one or of the
// other, whichever cannot be refused.
func (a *Actor) moveOver(ctx context.Context, temp, path string, attrs map[string]string) error {
	typ := attrs[variables.XattrType]
	set := func() error { return a.SetXattr(ctx, path, variables.XattrType, []byte(typ)) }
	if typ != "" && typ != string(variables.JSON) {
		if err := set(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := a.Rename(ctx, temp, path); err != nil || typ != string(variables.JSON) {
		return err
	}
	return set()
}
