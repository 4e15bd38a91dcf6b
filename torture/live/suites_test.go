package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// trial is a case of somebody else's suite. Where it does not pass, says is
// what it says then, and why is the policy that explains it: both are in
// docs/reliability.md.
type trial struct {
	name, options string
	says, why     string
}

const deepest = "there are no directories below that of a session"

// stressors are those of stress-ng that try files and directories. Left out
// are io, which syncs all file systems of the machine, fanotify, which stops
// all their programs, and those of mounts and of other file systems.
var stressors = []trial{
	{name: "access"}, {name: "aio"}, {name: "chattr"}, {name: "chmod"}, {name: "chown"}, {name: "copy-file"},
	{name: "dentry"}, {name: "dirdeep"}, {name: "dirmany"}, {name: "dnotify"}, {name: "dup"}, {name: "fallocate"},
	{name: "fcntl"}, {name: "file-ioctl"}, {name: "filename"}, {name: "flock"}, {name: "fpunch"},
	{name: "fsize"}, {name: "fstat"}, {name: "getdent"}, {name: "hdd"}, {name: "inotify"},
	{name: "iomix"}, {name: "ioprio"}, {name: "lease"}, {name: "locka"}, {name: "lockf"}, {name: "lockofd"},
	{name: "open"}, {name: "readahead"}, {name: "rename"}, {name: "revio"}, {name: "seek"},
	{name: "sendfile"}, {name: "sync-file"}, {name: "touch"}, {name: "utime"},
	{name: "chdir", says: `mkdir .* failed, errno=1 \(Operation not permitted\)`, why: deepest},
	{name: "dir", says: `mkdir .* failed, errno=1 \(Operation not permitted\)`, why: deepest},
	{name: "fiemap", says: "FS_IOC_FIEMAP not supported", why: "no ioctl is passed on"},
	{name: "inode-flags", says: "inode-flags +0 ", why: "no ioctl is passed on"},
	{name: "mknod", says: "mknod +0 ", why: "devices and fifos are refused"},
	{name: "link", says: "link calls not allowed on the filesystem", why: "hard links are refused"},
	{name: "symlink", says: "link calls not allowed on the filesystem", why: "symbolic links are refused, but for an editor's lock"},
	{name: "xattr", says: "filesystem does not support xattr", why: "foreign extended attributes are not kept"},
}

// jobs are those of fio, which reads back and verifies all that it wrote.
var jobs = []trial{
	{name: "pwrite", options: "--rw=randwrite --ioengine=psync --fsync=16"},
	{name: "read and write", options: "--rw=randrw --ioengine=psync --end_fsync=1"},
	{name: "O_SYNC", options: "--rw=randwrite --ioengine=pvsync --sync=1 --size=1m"},
	{name: "append", options: "--rw=write --ioengine=psync --file_append=1"},
	{name: "fallocate", options: "--rw=write --ioengine=sync --fallocate=posix"},
	{name: "splice", options: "--rw=write --ioengine=splice"},
	{name: "libaio", options: "--rw=randwrite --ioengine=libaio --iodepth=8"},
	{name: "O_DIRECT", options: "--rw=randwrite --ioengine=libaio --iodepth=8 --direct=1 --bsrange=4k-64k"},
	{name: "mmap", options: "--rw=randwrite --ioengine=mmap"},
}

// suite runs the cases in a directory of a mount, and adds what held to the
// table. A case that fails must be known, and one that is known must fail.
func suite(t *testing.T, program, where string, cases []trial, args func(c trial, dir string) []string, passed func(c trial, out []byte) bool) {
	needRoot(t)
	if !*full {
		return // scripts/torture has the programs
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%v; scripts/torture installs it", err)
	}
	d := start(t, raced(), t.TempDir())
	dir := filepath.Join(d.Point, where)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, end := context.WithTimeout(context.Background(), 2*patience)
			defer end()
			out, err := exec.CommandContext(ctx, program, args(c, dir)...).CombinedOutput()
			ok := err == nil && passed(c, out)
			switch {
			case c.says == "" && !ok:
				t.Errorf("%v\n%s\nthe daemon says:\n%s", err, out, d.Log())
			case c.says == "":
				held++
			case ok:
				t.Errorf("it passes; that %q is no longer true", c.why)
			case !regexp.MustCompile(c.says).Match(out):
				t.Errorf("it was to say %q because %s, and says\n%s", c.says, c.why, out)
			}
		})
	}
	table.Add(program+" in "+where, len(cases), held, "the others deviate as docs/reliability.md says")
	if f, err := d.Figures(); err != nil || f.Faults > 0 {
		t.Errorf("the daemon met %d faults (%v):\n%s", f.Faults, err, d.Log())
	}
}

func TestStressNGDeviatesWhereThePolicySaysSo(t *testing.T) {
	const each = 3 * time.Second
	suite(t, "stress-ng", "a", stressors, func(c trial, dir string) []string {
		return []string{"--" + c.name, "4", "--timeout", each.String(), "--verify", "--metrics-brief", "--temp-path", dir}
	}, func(c trial, out []byte) bool {
		done := regexp.MustCompile(`\] ` + c.name + ` +[1-9]`) // how often; some skip silently what is not there
		return done.Match(out)
	})
}

func fio(c trial, dir string) []string {
	name := strings.ReplaceAll(c.name, " ", "-")
	args := []string{"--name=" + name, "--directory=" + dir, "--numjobs=4", "--size=16m", "--bsrange=1k-64k",
		"--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--randseed=1"}
	return append(args, strings.Fields(c.options)...)
}

func verified(trial, []byte) bool { return true } // by fio itself

func TestFioReadsBackWhatItWroteToOrdinaryFiles(t *testing.T) {
	suite(t, "fio", "a", jobs, fio, verified)
}

func TestFioReadsBackWhatItWroteToVariables(t *testing.T) {
	cases := append([]trial{}, jobs...)
	for i := range cases {
		if cases[i].name == "mmap" {
			cases[i].says, cases[i].why = "func=mmap, error=Invalid argument", "a draft of a variable cannot be mapped for writing"
		}
	}
	suite(t, "fio", "vars/global", cases, fio, verified)
}
