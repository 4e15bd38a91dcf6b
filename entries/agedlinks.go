package entries

import (
	"bytes"

	"ctxfs/codec"
)

// read notes what the entry f leads to. names are the files that it may name.
func (f *agedFile) read(entry codec.Entry, content []byte, names []*agedFile) {
	f.supersedes = map[string]bool{}
	for _, link := range entry.Supersedes {
		if target, err := codec.ResolveLink(f.dir, link); err == nil {
			f.supersedes[target] = true
			f.links = append(f.links, target)
		}
	}
	for _, link := range entry.Links {
		if target, err := codec.ResolveLink(f.dir, link); err == nil {
			f.links = append(f.links, target)
		}
	}
	for _, other := range names {
		if bytes.Contains(content, []byte(other.name)) {
			f.names = append(f.names, other)
		}
	}
}

// follow goes from all that stays to what that leads to, which stays too. The
// nearest entry is the reason, of several the first by path.
func (s *aging) follow() {
	var stay []*agedFile
	for _, f := range s.files {
		if !f.old || f.kept != "" {
			stay = append(stay, f)
		}
	}
	keep := func(f *agedFile, why string) {
		if f != nil && f.old && f.kept == "" {
			f.kept = why
			stay = append(stay, f)
		}
	}
	for i := 0; i < len(stay); i++ {
		f := stay[i]
		for _, target := range f.links {
			why := "linked from "
			if f.supersedes[target] {
				why = "superseded by "
			}
			keep(s.at[target], why+f.path+", which stays")
		}
		for _, other := range f.names {
			keep(other, "named in "+f.path+", which stays")
		}
	}
}
