package variables

import (
	"strings"

	"ctxfs/backing"
)

// The names in a scope that are no keys. They are never listed.
const (
	refDir     = ".ref"
	summaryDir = ".summary"
	listFile   = ".list"
	selfDir    = "self"
)

// place is what a path in this room leads to.
type place struct {
	scope Scope  // "" is the top; selfScope is the caller's view
	in    string // "", refDir, summaryDir or listFile
	key   string // "" is a directory, or .list
}

// selfScope stands for the caller's view, which is resolved before anything
// is looked at.
const selfScope Scope = selfDir

// placeOf parses a path; backing.ErrNotFound for what can never be.
func placeOf(path string) (place, error) {
	if path == "" {
		return place{}, nil
	}
	scope, rest, deeper := strings.Cut(path, "/")
	p := place{scope: Scope(scope)}
	if scope != selfDir {
		if _, err := ParseScope(scope); err != nil {
			return p, backing.ErrNotFound
		}
	}
	if !deeper {
		return p, nil
	}
	first, key, deeper := strings.Cut(rest, "/")
	switch {
	case (first == refDir || first == summaryDir) && (!deeper || key != ""):
		p.in, p.key = first, key
	case first == listFile && !deeper:
		p.in = first
		return p, nil
	case deeper:
		return p, backing.ErrNotDir
	default:
		p.key = first
	}
	if p.key != "" && strings.IndexByte(p.key, '/') >= 0 {
		return p, backing.ErrNotDir
	}
	return p, nil
}

func (p place) dir() bool { return p.key == "" && p.in != listFile }

func (p place) name() name { return name{p.scope, p.key} }
