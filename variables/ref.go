package variables

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"syscall"
	"time"
)

// Ref is a lightweight handle of one value (reference/4, Reference Passing):
// what agents pass to each other. It holds no content. As JSON it has fewer
// than 300 bytes, whatever the value's size, where scope and key together
// have at most 170.
type Ref struct {
	ID        string    `json:"id"` // names this value: another one has another id
	Key       string    `json:"key"`
	Scope     Scope     `json:"scope"`
	Type      Type      `json:"type"`
	SizeBytes int64     `json:"sizeBytes"`
	Created   time.Time `json:"created"` // when the value was set; of a stream, when it began
}

// JSON returns the ref as one line without its end.
func (r Ref) JSON() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A Ref is strings, a number and a time that RFC 3339 can say.
	if err := enc.Encode(r); err != nil {
		panic(fmt.Sprintf("ref of %s/%s: %v", r.Scope, r.Key, err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Removed is the *codec.Refusal of a ref whose variable is not there any more,
// for Resolve and for who resolves refs through files.
func (r Ref) Removed() error {
	return refuse(syscall.ENOENT, name{r.Scope, r.Key}.path(), "ref", "the ref names a variable that has been removed",
		"ask whoever passed the ref for the value's new place")
}

// Replaced is that of a ref whose variable has another value by now.
func (r Ref) Replaced() error {
	return refuse(syscall.ESTALE, name{r.Scope, r.Key}.path(), "id", "the ref names a value that has been replaced by another one",
		"take a new ref, as with: cat vars/"+string(r.Scope)+"/.ref/"+r.Key)
}

// ParseRef reads a ref back from its JSON. Id, scope and key are required;
// what else it says is not believed by anybody. *codec.Refusal with EINVAL.
func ParseRef(text []byte) (Ref, error) {
	const fix = "pass what vars/<scope>/.ref/<key> says, unchanged"
	var r Ref
	if err := json.Unmarshal(text, &r); err != nil {
		return Ref{}, refuse(syscall.EINVAL, "", "ref", "not a ref: "+err.Error(), fix)
	}
	if r.ID == "" {
		return Ref{}, refuse(syscall.EINVAL, "", "id", "a ref without an id", fix)
	}
	if _, err := parseName(r.Scope, r.Key); err != nil {
		return Ref{}, err
	}
	return r, nil
}

// valueID names the value that n has at the revision or stream given.
func valueID(n name, what string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s", n.scope, n.key, what)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// What RFC 3339 can say, in seconds since 1970: the years 0 to 9999.
var (
	firstYear = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	pastYears = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// stamp is t as refs and lists show it: UTC, milliseconds.
func stamp(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Millisecond)
	if t.Unix() < firstYear || t.Unix() >= pastYears {
		return time.Time{}
	}
	return t
}
