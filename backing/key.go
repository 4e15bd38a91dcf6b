package backing

import (
	"fmt"
	"strings"
)

// Key names an object or a directory: components separated by slashes, as in
// "code-reviewer/20260221T143022-auth.md". The empty key is the top directory.
// Components are never empty, "." or "..", and hold no NUL; any other byte may
// occur, also in names that are not UTF-8.
type Key string

// Own is the directory in which a store keeps what belongs to ctxfs itself:
// versions, logs, staging. It is a key like any other, but List never shows it.
const Own = ".ctxfs"

// ParseKey checks s and returns it as a Key, or an error that wraps
// [ErrBadKey].
func ParseKey(s string) (Key, error) {
	if s == "" {
		return "", nil
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", fmt.Errorf("%w: %q holds a NUL", ErrBadKey, s)
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("%w: %q", ErrBadKey, s)
		}
		if len(part) > 255 {
			return "", fmt.Errorf("%w: a name of %d bytes, 255 is the most", ErrNameTooLong, len(part))
		}
	}
	return Key(s), nil
}

// Name returns the last component.
func (k Key) Name() string {
	return string(k[strings.LastIndexByte(string(k), '/')+1:])
}

// Dir returns the directory that holds k; that of a top-level key is "".
func (k Key) Dir() Key {
	if i := strings.LastIndexByte(string(k), '/'); i >= 0 {
		return k[:i]
	}
	return ""
}

// Join returns the key of name in directory k.
func (k Key) Join(name string) Key {
	if k == "" {
		return Key(name)
	}
	return k + "/" + Key(name)
}

// Under reports whether k is dir or lies below it.
func (k Key) Under(dir Key) bool {
	return dir == "" || k == dir || strings.HasPrefix(string(k), string(dir)+"/")
}
