package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var update = flag.Bool("update", false, "write the golden file anew")

func tools(t *testing.T) []*mcp.Tool {
	res, err := newWorld(t).client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Tools
}

// Clients keep what they know of tools: a change here is a change for them.
func TestToolsAreThoseOfTheGoldenFile(t *testing.T) {
	const golden = "testdata/tools.json"
	got, err := json.MarshalIndent(tools(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the tools are not those of %s (go test ./mcpserver -update writes it):\n%s", golden, got)
	}
}

// What a model must know of a tool is in its description and those of its
// arguments; and the schemas hold to what every client understands.
func TestEveryToolAndArgumentIsDescribed(t *testing.T) {
	all := tools(t)
	if len(all) != 21 {
		t.Errorf("there are %d tools, and should be 21", len(all))
	}
	for _, tool := range all {
		if len(tool.Description) < 60 || tool.Title == "" || tool.Annotations == nil {
			t.Errorf("%s is not described", tool.Name)
		}
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "$ref") {
			t.Errorf("%s: %s holds a reference, which some clients do not follow", tool.Name, text)
		}
		for name, p := range schema.Properties {
			if len(p.Description) < 15 {
				t.Errorf("%s: %s is not described", tool.Name, name)
			}
			if len(p.Types) > 0 {
				t.Errorf("%s: %s has the types %v, and some clients know one", tool.Name, name, p.Types)
			}
		}
	}
}
