package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// commits is how often git commits in the full run.
const commits = 50

// TestGitKeepsWhatIsInAnAgentsDirectory has git read a directory of a mount
// while entries in it are saved, and compares what it has with what is there.
// Its own directory lies elsewhere: see docs/reliability.md.
func TestGitKeepsWhatIsInAnAgentsDirectory(t *testing.T) {
	needRoot(t)
	if !*full {
		return // a smaller one is in cmd/ctxfs/testdata
	}
	top := t.TempDir()
	d := start(t, raced(), top)
	work, kept := filepath.Join(d.Point, "a"), filepath.Join(top, "kept.git")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = work
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main", "--separate-git-dir="+kept)
	for n := range commits {
		for _, file := range []string{"20260221T143022-x.md", fmt.Sprintf("20260221T143022-y%d.md", n), "notes.txt"} {
			text := fmt.Sprintf("---\ntype: finding\n---\n\n# Title\n\nCommit %d.\n", n)
			if err := os.WriteFile(filepath.Join(work, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("commit", "-qm", fmt.Sprint(n))
	}
	git("gc", "-q")
	if said := git("fsck", "--strict", "--full") + git("status", "--short"); said != "" {
		t.Errorf("git says:\n%s", said)
	}
	clone := filepath.Join(top, "clone")
	git("clone", "-q", kept, clone)
	names, err := os.ReadDir(work)
	if err != nil || len(names) != commits+3 { // with .git
		t.Errorf("there are %d names, %v", len(names), err)
	}
	held := 0
	for _, e := range names {
		if e.Name() == ".git" {
			continue
		}
		here, err := os.ReadFile(filepath.Join(work, e.Name()))
		there, cerr := os.ReadFile(filepath.Join(clone, e.Name()))
		if err != nil || cerr != nil || string(here) != string(there) {
			t.Errorf("%s: %v, %v; it is\n%s\nand git has\n%s", e.Name(), err, cerr, here, there)
			continue
		}
		held++
	}
	table.Add(t.Name(), commits+2, held, fmt.Sprintf("files after %d commits, gc and fsck", commits))
}
