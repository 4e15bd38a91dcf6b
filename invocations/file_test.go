package invocations

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// someFile has n invocations by the tools "even" and "odd", with lines between
// that are none, and one at the end that is being written.
func someFile(n int) string {
	var b strings.Builder
	for i := range n {
		tool := []string{"even", "odd"}[i%2]
		fmt.Fprintf(&b, `{"tool_name":%q,"params":{"n":%d},"result":null,"success":%v}`+"\n", tool, i, i%10 != 9)
		if i%7 == 0 {
			b.WriteString("no invocation\n\n")
		}
	}
	b.WriteString(`{"tool_name":"torn"`)
	return b.String()
}

// numbers are the params of the entries that f wants, read as the commands do.
func numbers(t *testing.T, text string, f Filter) []string {
	t.Helper()
	r := strings.NewReader(text)
	begin, err := Begin(r, r.Size(), f)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for e, err := range Entries(io.NewSectionReader(r, begin, r.Size()-begin)) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Matches(e) {
			got = append(got, string(bytes.Trim(e.Params, `{}"n:`)))
		}
	}
	return got
}

func TestBeginFindsTheNewestThatMatch(t *testing.T) {
	text := someFile(60)
	for _, c := range []struct {
		name string
		f    Filter
		want string
	}{
		{"the last three", Filter{Limit: 3}, "57 58 59"},
		{"of a tool", Filter{Limit: 3, Tool: "even"}, "54 56 58"},
		{"failed", Filter{Limit: 2, Failed: true}, "49 59"},
		{"more than there are", Filter{Limit: 90, Failed: true}, "9 19 29 39 49 59"},
		{"none", Filter{Limit: 5, Tool: "torn"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(numbers(t, text, c.f), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := numbers(t, text, Filter{Limit: -1}); len(got) != 60 || got[0] != "0" {
		t.Errorf("all are %v", got)
	}
	if got := numbers(t, text, Filter{}); len(got) != DefaultLimit {
		t.Errorf("by default there are %d", len(got))
	}
	if got := numbers(t, "", Filter{}); len(got) != 0 {
		t.Errorf("an empty file has %v", got)
	}
}

func TestALineThatIsTooLongHidesOnlyItself(t *testing.T) {
	long := fmt.Sprintf(`{"tool_name":"long","params":%q,"result":null}`, strings.Repeat("x", MaxLine))
	text := `{"tool_name":"a","params":{"n":1},"result":null}` + "\n" + long + "\n" + `{"tool_name":"a","params":{"n":2},"result":null}` + "\n"
	if got := strings.Join(numbers(t, text, Filter{Limit: -1}), " "); got != "1 2" {
		t.Errorf("forwards %q", got)
	}
	if got := strings.Join(numbers(t, text, Filter{Limit: 2}), " "); got != "1 2" {
		t.Errorf("from the end %q", got)
	}
}
