package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/torture/disk"
	"ctxfs/torture/trace"
)

// kept is a file of a room, which is there with old and does not become new on
// a full disk. The new content has its room on no page that the old one has.
type kept struct {
	file     string
	old, new string
	adds     bool // new is added to the old, else it replaces it
	loose    bool // it may show as much of the new as there was room for, or what is queued
}

var (
	large   = strings.Repeat(long, 20) // bytes: 236,000
	rooms   = []kept{keptEntry, keptVariable, keptPlain, keptSession, keptResult, keptContext, keptMemory, keptHistory}
	another = kept{file: path("another"), new: entry("New", large, "")}

	keptEntry    = kept{file: path("full"), old: entry("Old", "Old text.", ""), new: entry("New", "New text.\n"+large, "")}
	keptPlain    = kept{file: "alice/notes.txt", old: "old", new: large, adds: true, loose: true}
	keptVariable = kept{file: "vars/global/k", old: "old", new: large}
	keptSession  = kept{file: "vars/session:s/k", old: "old", new: large} // which is spilled
	keptResult   = kept{file: "results/s1-t-1.json", new: fmt.Sprintf(`{"toolName":"t","args":{},"result":%q,"timestamp":"2026-02-22T10:00:00Z","queryId":"q","sessionId":"s1"}`, large)}
	keptContext  = kept{file: "memories/m/context.md", old: "old", new: strings.Repeat("x", 60_000), loose: true}
	keptMemory   = kept{file: "memories/m/entries.jsonl", old: `{"rawEntry":"old"}` + "\n", new: fmt.Sprintf(`{"rawEntry":%q}`+"\n", large[:60_000]), adds: true}
	keptHistory  = kept{file: "invocations/context.jsonl", old: invocation, new: fmt.Sprintf(`{"tool_name":"t","params":{},"result":%q}`+"\n", large), adds: true}
)

// write does what a program does that wants its content on disk.
func (k kept) write(mount, text string) error {
	flags := os.O_CREATE | os.O_TRUNC
	if k.adds {
		flags = os.O_CREATE | os.O_APPEND
	}
	return syncs(k.file, text, flags)(mount)
}

// shows says whether a reader finds the old content whole, and with grown the
// new one.
func (k kept) shows(mount string, grown bool) error {
	text, err := os.ReadFile(filepath.Join(mount, k.file))
	if k.old == "" && !grown {
		// It ends with the release of the file, which comes after the close.
		for end := time.Now().Add(slowPatience); err == nil && len(text) == 0 && time.Now().Before(end); {
			text, err = os.ReadFile(filepath.Join(mount, k.file))
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	want := k.old
	if grown {
		want = k.new
	}
	// A room adds what is missing: an entry's changelog, the fields of a line.
	end := max(0, min(len(want)-3, 200))
	if !strings.Contains(string(text), want[:end]) || !grown && (len(text) > 1000 || k.old == "") || grown && len(text) < len(k.new) {
		return fmt.Errorf("%s has %d bytes, and begins with %.300q", k.file, len(text), text)
	}
	return nil
}

func TestAFullDiskRefusesLosesNothingAndWorksAgain(t *testing.T) {
	needRoot(t)
	for _, on := range []struct {
		name  string
		mount func(t *testing.T, dir string)
	}{
		{"a tmpfs of 2 MiB", func(t *testing.T, dir string) { must(t, unix.Mount("torture", dir, "tmpfs", 0, "size=2m")) }},
		{"an ext4 of 16 MiB", func(t *testing.T, dir string) { mountImage(t, disk.Ext4Default, dir) }},
	} {
		t.Run(on.name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			on.mount(t, top)
			defer func() { must(t, unix.Unmount(top, unix.MNT_DETACH)) }()
			dir := filepath.Join(top, "store")
			use(t, dir, func(trace.Call) trace.Action { return trace.Action{} }, func(mount string) {
				if err := fullDisk(top, mount); err != nil {
					t.Error(err)
				}
			})
			s := look(t, dir)
			if lines := strings.Count(s["entry "+keptEntry.file], "\n- "); lines != 1 {
				t.Errorf("%d lines in the changelog after one overwrite", lines)
			}
			table.add("full disk: "+on.name+", mounted", len(rooms), len(rooms), "ENOSPC in each room, the old version stays, then it works again")
		})
	}
}

// mountImage mounts an empty file system in memory.
func mountImage(t *testing.T, f disk.Format, dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	content, err := f.Make(image)
	must(t, err)
	must(t, os.WriteFile(image, content, 0o600))
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	must(t, err)
	loop, err := disk.Attach(file)
	must(t, errors.Join(err, file.Close()))
	must(t, errors.Join(f.Mount(loop, dir), loop.Detach())) // it goes with the mount
}

func fullDisk(top, mount string) error {
	filler := filepath.Join(top, "filler")
	for _, dir := range []string{"alice", "memories/m"} {
		if err := os.Mkdir(filepath.Join(mount, dir), 0o755); err != nil {
			return err
		}
	}
	for _, k := range rooms {
		if k.old == "" {
			continue
		}
		if err := k.write(mount, k.old); err != nil {
			return fmt.Errorf("%s: %w", k.file, err)
		}
	}
	if err := fill(filler); err != nil {
		return err
	}
	for _, k := range append(rooms, another) {
		for range 2 {
			if err := k.write(mount, k.new); !errors.Is(err, unix.ENOSPC) {
				return fmt.Errorf("%s on a full disk: %v", k.file, err)
			}
		}
	}
	for _, k := range append(rooms, another) {
		if err := k.shows(mount, false); err != nil && !k.loose {
			return fmt.Errorf("on a full disk: %w", err)
		}
	}
	if _, err := os.ReadDir(filepath.Join(mount, "alice")); err != nil {
		return fmt.Errorf("list a directory on a full disk: %w", err)
	}
	if err := errors.Join(os.Remove(filler), syncAll(top)); err != nil {
		return err
	}
	for _, k := range append(rooms, another) {
		if err := errors.Join(k.write(mount, k.new), k.shows(mount, true)); err != nil {
			return fmt.Errorf("%s when there is space again: %w", k.file, err)
		}
	}
	return nil
}

// syncAll syncs the file system of dir: ext4 gives space back with its journal.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// fill writes a file until the disk is full.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("the disk does not become full: %w", err)
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return nil
}
