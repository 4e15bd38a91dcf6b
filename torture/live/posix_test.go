package live

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// In a process of the tests with posixEnv, the test below runs posixtest in
// that directory, each part in a directory of its own.
const posixEnv = "CTXFS_LIVE_POSIX"

func posix(t *testing.T, dir string) {
	for _, name := range slices.Sorted(maps.Keys(posixtest.All)) {
		t.Run(name, func(t *testing.T) {
			mine := filepath.Join(dir, name)
			if err := os.Mkdir(mine, 0o755); err != nil {
				t.Fatal(err)
			}
			posixtest.All[name](t, mine)
		})
	}
}

// deviations are the tests that do not pass, and why. That of FcntlFlock fails
// on ext4 too: locks of fcntl(2) belong to the process.
var deviations = map[string]string{
	"Link":                "hard links are refused",
	"LinkUnlinkRename":    "hard links are refused",
	"SymlinkReadlink":     "symbolic links are refused, but for an editor's lock",
	"SetattrSymlink":      "symbolic links are refused, but for an editor's lock",
	"OpenSymlinkRace":     "symbolic links are refused, but for an editor's lock",
	"FcntlFlockLocksFile": "one process does not stand in its own way",
	"RenameOpenDir":       "an open directory that was replaced shows what stands in its place",
	"Tmpfile":             "a file without a name has no path to be judged by",
	"XAttr":               "foreign extended attributes are not kept",
	"XAttrLarge":          "foreign extended attributes are not kept",
}

var verdict = regexp.MustCompile(`(?m)^    --- (PASS|FAIL|SKIP): \w+/(\w+) `)

func TestPosixtestDeviatesWhereThePolicySaysSo(t *testing.T) {
	if dir := os.Getenv(posixEnv); dir != "" {
		posix(t, dir)
		return
	}
	needRoot(t)
	d := start(t, raced(), t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), posixEnv+"="+d.Point)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	seen, passed := 0, 0
	for _, m := range verdict.FindAllSubmatch(out, -1) {
		name := string(m[2])
		why, deviates := deviations[name]
		seen++
		switch {
		case bytes.Equal(m[1], []byte("PASS")) == deviates:
			t.Errorf("%s: %s; the known deviation is %q", name, m[1], why)
		case !deviates:
			passed++
		}
	}
	if seen != len(posixtest.All) {
		t.Errorf("%d of %d tests were run", seen, len(posixtest.All))
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
	table.Add("posixtest on ordinary files", seen, passed, "the others deviate as docs/reliability.md says")
}
