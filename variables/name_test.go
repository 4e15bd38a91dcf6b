package variables

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ctxfs/backing"
	"ctxfs/codec"
)

// FuzzKeysThatAreAcceptedAreSafeFileNames also holds for refs made of them.
func FuzzKeysThatAreAcceptedAreSafeFileNames(f *testing.F) {
	for _, s := range []string{"k", "", ".", "..", "a/b", "ä", "\x00", "a\u202eb", strings.Repeat("x", 201), "x.json", "k@500", "#k#", "\u0085"} {
		f.Add(s, "agent:"+s)
	}
	f.Fuzz(func(t *testing.T, key, scope string) {
		if CheckKey(key) == nil {
			if key == "" || len(key) > MaxKey || key[0] == '.' || strings.ContainsAny(key, "/\x00\n") ||
				!utf8.ValidString(key) || strings.IndexFunc(key, unicode.IsControl) >= 0 {
				t.Fatalf("accepted: %q", key)
			}
			if _, err := backing.ParseKey("vars/global/" + key); err != nil {
				t.Fatalf("%q: %v", key, err)
			}
			if p, err := placeOf("global/" + key); err != nil || p.key != key || p.in != "" {
				t.Fatalf("%q is found at %+v, %v", key, p, err)
			}
			for nth := 1; nth <= rejNames; nth++ {
				if at := rejName(name{Global, key}, nth); CheckKey(at.key) != nil {
					t.Fatalf("the refused draft of %q would be %q", key, at.key)
				}
			}
		}
		if s, err := ParseScope(scope); err == nil {
			if _, err := backing.ParseKey(string(scopeDir(s))); err != nil || strings.Contains(scope, "/") {
				t.Fatalf("scope %q: %v", scope, err)
			}
		}
		for _, s := range []Scope{AgentScope(scope), SessionScope(key)} {
			if _, err := ParseScope(string(s)); err != nil {
				t.Fatalf("label %q makes scope %q: %v", scope, s, err)
			}
		}
	})
}

// FuzzRefsThatParseComeBackIdentical also shows that nothing else parses to a
// place outside.
func FuzzRefsThatParseComeBackIdentical(f *testing.F) {
	f.Add([]byte(`{"id":"x","key":"k","scope":"global","type":"text","sizeBytes":1,"created":"2026-02-21T14:30:22.123Z"}`))
	f.Add([]byte(`{"id":"x","key":"../k","scope":"global"}`))
	f.Add([]byte(`{"id":"","key":"k","scope":"agent:a"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRef(text)
		if err != nil {
			return
		}
		if CheckKey(r.Key) != nil {
			t.Fatalf("key %q", r.Key)
		}
		again, err := ParseRef(r.JSON())
		if err != nil || !again.Created.Equal(r.Created) {
			t.Fatalf("%s: %+v, %v", text, again, err)
		}
		again.Created = r.Created
		if again != r {
			t.Fatalf("%+v, want %+v", again, r)
		}
	})
}

func TestLabelsBecomeScopes(t *testing.T) {
	for label, want := range map[string]Scope{
		"alice": "agent:alice", "a:b": "agent:a:b", "a b": "agent:xa-b", "ü": "agent:x--", ".x": "agent:x.x",
		strings.Repeat("l", 300): Scope("agent:x" + strings.Repeat("l", 127)),
	} {
		if got := AgentScope(label); got != want || codec.CheckDirName(strings.TrimPrefix(string(got), "agent:")) != nil {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}
