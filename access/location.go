package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Location is where a store is: in a directory of this host, or in a database
// that other hosts use too. It prints without a password.
type Location struct {
	// Name is what people are shown, and what a mount's device is called in
	// /proc/mounts: the directory, or the database's URL without passwords.
	Name string

	url   string // of a database, with its password; "" of a directory
	local string // the directory of this host below which each database has one
}

// Directory is a store in dir, which is absolute.
func Directory(dir string) Location { return Location{Name: dir} }

// Database is a store in the database that text names, a URL as libpq has it.
// What belongs to this host alone lies below local, see [Open].
func Database(text, local string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil || !IsURL(text) {
		// What url.Parse says repeats the password.
		return Location{}, errors.New("the store's URL cannot be read; it is postgres://USER@HOST:PORT/DATABASE, with percent signs for special characters (%2F for a slash in a password)")
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		q.Del(secret)
	}
	u.Scheme, u.RawQuery, u.Fragment = "postgres", q.Encode(), ""
	return Location{Name: u.String(), url: text, local: local}, nil
}

// IsURL reports whether a store's name is that of a database, and not of a
// directory.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// Remote reports whether the store is in a database.
func (l Location) Remote() bool { return l.url != "" }

// URL is the database's, with its password, to be handed to a process that
// shall open it; "" of a directory.
func (l Location) URL() string { return l.url }

// String is the name.
func (l Location) String() string { return l.Name }

// GoString keeps the password out of %#v.
func (l Location) GoString() string { return fmt.Sprintf("access.Location{%q}", l.Name) }

// home is the directory of this host that belongs to the database.
func (l Location) home() string {
	sum := sha256.Sum256([]byte(l.Name))
	return filepath.Join(l.local, fmt.Sprintf("%x", sum[:8]))
}
