package main

import "testing"

func TestVersionNamesTheCommit(t *testing.T) {
	for _, c := range []struct {
		b    build
		want string
	}{
		{build{Version: "1.2.3", Commit: "0123456789abcdef0123", Go: "go1", Platform: "linux/arm64"}, "1.2.3 (commit 0123456789ab, go1, linux/arm64)"},
		{build{Version: "dev", Commit: "01", Modified: true, Go: "go1", Platform: "p"}, "dev (commit 01 with changes, go1, p)"},
		{build{Version: "dev", Go: "go1", Platform: "p"}, "dev (of no known commit, go1, p)"},
	} {
		if got := c.b.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
