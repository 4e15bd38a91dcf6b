package results

import (
	"fmt"
	"strings"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
)

const (
	// roomDir is the directory of this room in the store and on the mount.
	roomDir = "results"
	nameEnd = ".json"
	rejEnd  = ".rej"

	// MaxSession, MaxTool and MaxHash are the longest parts of a file name,
	// in bytes as they stand there, so that a name with ".rej" behind it is
	// one that every file system takes.
	MaxSession = 128
	MaxTool    = 80
	MaxHash    = 32
)

// FileName returns the name under which a result lies:
// "<sessionId>-<tool>-<hash>.json". Bytes other than letters, digits and
// "._:-" are written as %XX, and so is a first "." or "-", so that different
// sessions and tools never share a name. It returns a *codec.Refusal with
// EINVAL where a part is empty or too long.
func FileName(sessionID, tool, hash string) (string, error) {
	stem, err := stemOf(sessionID, tool)
	if err != nil {
		return "", err
	}
	if !isHash(hash) {
		return "", refuse("", 0, "", fmt.Sprintf("%.40q is no hash", hash),
			fmt.Sprintf("use 1 to %d letters and digits", MaxHash))
	}
	return stem + "-" + hash + nameEnd, nil
}

// stemOf is the name without the hash and what stands around it.
func stemOf(sessionID, tool string) (string, error) {
	parts := []struct {
		field, text string
		most        int
	}{{"sessionId", sessionID, MaxSession}, {"toolName", tool, MaxTool}}
	var stem []string
	for _, p := range parts {
		text := escapePart(p.text)
		if text == "" || len(text) > p.most {
			return "", refuse("", 0, p.field, fmt.Sprintf("it is %d bytes long in a file name", len(text)),
				fmt.Sprintf("use 1 to %d bytes; all but letters, digits and ._:- count three", p.most))
		}
		stem = append(stem, text)
	}
	return strings.Join(stem, "-"), nil
}

// escapePart writes s with the bytes that a name may have.
func escapePart(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; inName(c) && (i > 0 || c != '.' && c != '-') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func inName(c byte) bool { return alnum(c) || strings.IndexByte("._:-", c) >= 0 }

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isHash(s string) bool {
	for i := range len(s) {
		if !alnum(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= MaxHash
}

// isResult reports whether name is meant to be a result. Everything else in
// the directory is an ordinary file: what editors leave, temporary files, a
// refused draft.
func isResult(name string) bool {
	return strings.HasSuffix(name, nameEnd) && strings.IndexByte(".#~", name[0]) < 0
}

// checkName says whether a result can have this name. Where the session ends
// and the tool begins only the content knows, as both may have hyphens.
func checkName(name string) error {
	stem, hash, ok := cutHash(name)
	ok = ok && isHash(hash) && len(stem) <= MaxSession+1+MaxTool
	for i := range len(stem) {
		ok = ok && (inName(stem[i]) || stem[i] == '%')
	}
	if i := strings.IndexByte(stem, '-'); !ok || i < 1 || i == len(stem)-1 {
		return refuse(path(name), 0, "", fmt.Sprintf("%.80q does not name a result", name),
			"name it <sessionId>-<tool>-<hash>.json, the hash of letters and digits; a temporary file must not end in .json")
	}
	return nil
}

// cutHash parts a name into what stands before the last hyphen and the hash.
func cutHash(name string) (stem, hash string, ok bool) {
	text, ok := strings.CutSuffix(name, nameEnd)
	i := strings.LastIndexByte(text, '-')
	if !ok || i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// agree says whether name is that of a result of tool in the session.
func agree(name, sessionID, tool string) error {
	want, err := stemOf(sessionID, tool)
	if err != nil {
		return withPath(err, name)
	}
	if stem, hash, ok := cutHash(name); !ok || stem != want || !isHash(hash) {
		if !isHash(hash) {
			hash = "<hash>" // of letters and digits
		}
		return refuse(path(name), 0, "", fmt.Sprintf("the name does not agree with the content, which is of tool %.80q in session %.80q", tool, sessionID),
			fmt.Sprintf("name it %s-%s%s", want, hash, nameEnd))
	}
	return nil
}

func path(name string) string { return roomDir + "/" + name }

func key(name string) backing.Key { return backing.Key(path(name)) }

// refuse returns a refusal with EINVAL.
func refuse(at string, line int, field, reason, fix string) *codec.Refusal {
	return &codec.Refusal{Errno: syscall.EINVAL, Path: at, Line: line, Field: field, Reason: reason, Fix: fix}
}
