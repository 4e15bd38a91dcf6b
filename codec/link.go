package codec

import (
	"path"
	"strings"
)

const linkFix = "write a path from the store's root, as other-agent/20260221T143022-x.md, or from the entry's own directory, as ../other-agent/20260221T143022-x.md"

// ResolveLink returns the path from the store's root that link means in an
// entry of directory dir ("agent" or "agent/session"). A link that begins
// with "./" or "../", and one without a slash, starts from dir: no entry lies
// in the root itself. Every other one starts from the root. What the path
// names need not exist. An absolute link, a URL, or one that leaves the store
// is a [*Refusal].
func ResolveLink(dir, link string) (string, error) {
	p, r := resolveLink(dir, link)
	if r != nil {
		return "", r
	}
	return p, nil
}

func resolveLink(dir, link string) (string, *Refusal) {
	bad := func(why string) (string, *Refusal) {
		return "", refuse(0, "", "the link "+quote(link)+" "+why, linkFix)
	}
	switch {
	case link == "":
		return bad("is empty")
	case strings.HasPrefix(link, "/"), strings.HasPrefix(link, "~/"):
		return bad("is absolute")
	case strings.Contains(link, "://"):
		return bad("is a URL; URLs belong in the body")
	case strings.IndexFunc(link, unsafeRune) >= 0:
		return bad("holds a control character")
	}
	p := link
	if !strings.Contains(link, "/") || strings.HasPrefix(link, "./") || strings.HasPrefix(link, "../") {
		p = dir + "/" + link
	}
	// Without a leading slash Clean keeps each ".." that has nothing to undo.
	p = path.Clean(strings.TrimPrefix(p, "/"))
	switch {
	case p == "..", strings.HasPrefix(p, "../"):
		return bad("leaves the store")
	case p == ".":
		return bad("names the store itself")
	}
	return p, nil
}
