package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/access"
	"ctxfs/room"
	"ctxfs/torture/disk"
	"ctxfs/torture/trace"
)

// badText is what the disk cannot write: the block that it would stand in is
// bad. It is found when the kernel writes its pages back, at a sync.
const badText = "a block of the disk that cannot be written"

// onBad are the rooms that promise to be on the disk.
var onBad = []kept{keptEntry, keptVariable, keptContext, keptPlain, keptMemory, keptHistory}

// TestABadBlockIsToldAndHarmsNothing has errors from below the file system, as
// no system call of the store's own shows them: the write works, the sync fails.
func TestABadBlockIsToldAndHarmsNothing(t *testing.T) {
	needRoot(t)
	formats := []disk.Format{disk.Ext4Default, disk.XFS, disk.Ext4Bare}
	if !*full {
		formats = formats[:1]
	}
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			if !inKernel(t, f) {
				return
			}
			top, again := mountBad(t, f)
			dir := filepath.Join(top, "store")
			use(t, dir, func(trace.Call) trace.Action { return trace.Action{} }, func(mount string) {
				if err := badBlocks(mount); err != nil {
					t.Error(err)
				}
			})
			again() // without what the kernel has in memory
			if err := opensAgain(dir); err != nil {
				t.Errorf("when the store is opened again: %v", err)
			}
			table.add("bad block: "+f.Name+", mounted", len(onBad)+1, len(onBad)+1, "EIO at the sync in each room, the old version stays, then it works again")
		})
	}
}

// mountBad mounts a file system on a disk that cannot write badText; again does
// so once more.
func mountBad(t *testing.T, f disk.Format) (top string, again func()) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, errors.Join(os.WriteFile(at("image"), formatted(t, f), 0o600), os.Mkdir(at("fuse"), 0o700), os.Mkdir(at("top"), 0o755)))
	serve(t, at("fuse"), imageEnv+"="+at("image"), recEnv+"="+at("record"), badEnv+"="+badText)
	file, err := os.OpenFile(at("fuse/"+disk.DiskName), os.O_RDWR, 0)
	must(t, err)
	loop, err := disk.Attach(file)
	must(t, errors.Join(err, file.Close()))
	must(t, f.Mount(loop, at("top")))
	t.Cleanup(func() { must(t, errors.Join(unix.Unmount(at("top"), 0), loop.Detach())) })
	return at("top"), func() { must(t, errors.Join(unix.Unmount(at("top"), 0), f.Mount(loop, at("top")))) }
}

// bad is content like text, with what the disk cannot write in it.
func bad(text string) string {
	return strings.Replace(text, "A line of an entry", badText, 1)
}

func badBlocks(mount string) error {
	for _, name := range []string{"alice", "memories/m"} {
		if err := os.Mkdir(filepath.Join(mount, name), 0o755); err != nil {
			return err
		}
	}
	for _, k := range append(onBad, another) {
		if k.old == "" {
			continue
		}
		if err := k.write(mount, k.old); err != nil {
			return fmt.Errorf("%s: %w", k.file, err)
		}
	}
	for _, k := range append(onBad, another) {
		text := bad(k.new)
		if k.file == keptContext.file {
			text = badText
		}
		if err := k.write(mount, text); !errors.Is(err, unix.EIO) {
			return fmt.Errorf("%s on a bad block: %v", k.file, err)
		}
		if k.adds {
			continue // it may be read, and stays failed until the store is opened again
		}
		if err := k.shows(mount, false); err != nil && !k.loose {
			return fmt.Errorf("on a bad block: %w", err)
		}
		if err := errors.Join(k.write(mount, k.new), k.shows(mount, true)); err != nil {
			return fmt.Errorf("%s on a good block: %w", k.file, err)
		}
	}
	return nil
}

// opensAgain says what is wrong with the store when the kernel has nothing of
// it in memory any more. Of a line whose sync failed a part may be there.
func opensAgain(dir string) error {
	w, err := openWorld(dir, "look")
	if err != nil {
		return err
	}
	err = each(invokes("later"), adds("m", "later"))(w)
	s, serr := w.snapshot()
	errs := []error{err, serr, w.close()}
	err = access.Check(ctx, access.Directory(dir), access.CheckOptions{}, func(p room.Problem) {
		if !p.Warning && p.Path != keptMemory.file && p.Path != keptHistory.file {
			errs = append(errs, fmt.Errorf("check: %s:%d: %s", p.Path, p.Line, p.Reason))
		}
	})
	errs = append(errs, err)
	for name, text := range map[string]string{"entry " + another.file: "# New\n\nA line of", "entry " + keptPlain.file: "old", "memory " + keptContext.file[len("memories/"):]: "xxx",
		"memory m/entries.jsonl": "old", "invocation 1": "second"} {
		if !strings.Contains(s[name], text) {
			errs = append(errs, fmt.Errorf("%s has not what was acknowledged: %.300q", name, s[name]))
		}
	}
	if !strings.Contains(s["memory m/entries.jsonl"], "later") {
		errs = append(errs, errors.New("what was added to the memory then is not there"))
	}
	if lines := strings.Count(s["entry "+keptEntry.file], "\n- "); lines != 1 {
		errs = append(errs, fmt.Errorf("%d lines in the changelog after one overwrite", lines))
	}
	return errors.Join(errs...)
}
