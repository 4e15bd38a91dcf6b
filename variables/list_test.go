package variables

import (
	"testing"
)

func TestListFiltersAndPages(t *testing.T) {
	w := openWorld(t, Options{})
	for _, k := range []string{"a.json", "b", "c.json", "d"} {
		for _, scope := range scopes {
			w.set(scope, k, "{}")
		}
	}
	tests := []struct {
		f    Filter
		want int
	}{
		{Filter{}, 12},
		{Filter{Scope: Global}, 4},
		{Filter{Scope: "agent:nobody"}, 0},
		{Filter{Type: JSON}, 6},
		{Filter{Scope: "session:s1", Type: Text, Prefix: "b"}, 1},
		{Filter{Limit: 5}, 5},
		{Filter{After: Place{Global, "b"}}, 6},
		{Filter{After: Place{Global, "b"}, Limit: 3}, 3},
	}
	for _, tt := range tests {
		got, err := w.List(bg, tt.f)
		if err != nil || len(got) != tt.want {
			t.Errorf("%+v: %d variables, %v; want %d", tt.f, len(got), err, tt.want)
		}
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			if a.Scope > b.Scope || a.Scope == b.Scope && a.Key >= b.Key {
				t.Errorf("%+v: %s/%s before %s/%s", tt.f, a.Scope, a.Key, b.Scope, b.Key)
			}
		}
	}
	if _, err := w.List(bg, Filter{Scope: "nowhere"}); err == nil {
		t.Error("an unknown scope is listed")
	}
}
