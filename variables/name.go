package variables

import (
	"fmt"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"ctxfs/backing"
	"ctxfs/codec"
)

// Scope says who shares a variable: "global", "agent:<id>" or "session:<id>".
type Scope string

// Global is the scope that everybody shares.
const Global Scope = "global"

const (
	agentPrefix   = "agent:"
	sessionPrefix = "session:"
)

// MaxKey is the longest key, in bytes.
const MaxKey = 200

// roomDir is the directory of this room in the store and on the mount.
const roomDir = "vars"

// AgentScope returns the scope of an agent. A label that cannot be a
// directory's name has each byte replaced that stands in the way.
func AgentScope(label string) Scope { return Scope(agentPrefix + dirName(label)) }

// SessionScope returns the scope of a session, as AgentScope does.
func SessionScope(label string) Scope { return Scope(sessionPrefix + dirName(label)) }

// dirName makes a label a directory name.
func dirName(label string) string {
	if codec.CheckDirName(label) == nil {
		return label
	}
	b := []byte(label)
	for i, c := range b {
		if codec.CheckDirName("x"+string(rune(c))) != nil || c >= utf8.RuneSelf {
			b[i] = '-'
		}
	}
	return "x" + string(b[:min(len(b), 127)])
}

// ParseScope checks s and returns it as a Scope, or a *codec.Refusal with
// EINVAL.
func ParseScope(s string) (Scope, error) {
	id, ok := strings.CutPrefix(s, agentPrefix)
	if !ok {
		id, ok = strings.CutPrefix(s, sessionPrefix)
	}
	if s == string(Global) || ok && codec.CheckDirName(id) == nil {
		return Scope(s), nil
	}
	r := refuse(syscall.EINVAL, codec.CleanLabel(s), "scope", fmt.Sprintf("%.60q is no scope", s),
		"use global, agent:<id> or session:<id>, the id of letters, digits, . _ : -")
	if r.Path == "" { // nothing of the name can be shown
		r.Path = roomDir
	}
	return "", r
}

// session reports whether variables of s live in memory.
func (s Scope) session() bool { return strings.HasPrefix(string(s), sessionPrefix) }

// CheckKey returns a *codec.Refusal with EINVAL unless key may name a
// variable: 1 to [MaxKey] bytes of UTF-8, no slash, no control character, not
// beginning with a dot.
func CheckKey(key string) error { return checkKey("", key) }

func checkKey(scope Scope, key string) error {
	why := ""
	switch {
	case key == "":
		why = "a key is never empty"
	case len(key) > MaxKey:
		why = fmt.Sprintf("a key has at most %d bytes, this one %d", MaxKey, len(key))
	case key[0] == '.':
		why = "a key does not begin with a dot"
	case strings.IndexByte(key, '/') >= 0:
		why = "a key holds no slash"
	case !utf8.ValidString(key):
		why = "a key is UTF-8"
	case strings.IndexFunc(key, unicode.IsControl) >= 0:
		why = "a key holds no control characters"
	default:
		return nil
	}
	path := string(scope)
	if path != "" {
		path += "/" + codec.CleanLabel(key)
	}
	return refuse(syscall.EINVAL, path, "key", why, "choose another name, as in vars/global/dataset.json")
}

// name is a variable's place.
type name struct {
	scope Scope
	key   string
}

// parseName checks both parts.
func parseName(scope Scope, key string) (name, error) {
	s, err := ParseScope(string(scope))
	if err != nil {
		return name{}, err
	}
	return name{s, key}, checkKey(s, key)
}

// path is relative to the room.
func (n name) path() string { return string(n.scope) + "/" + n.key }

// file is where the store keeps it, if it is a file.
func (n name) file() backing.Key { return scopeDir(n.scope).Join(n.key) }

func scopeDir(s Scope) backing.Key { return backing.Key(roomDir + "/" + string(s)) }
