package housekeeping

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/archive"
	"ctxfs/codec"
	"ctxfs/results"
)

var (
	now   = time.Date(2026, 3, 22, 12, 0, 0, 0, time.UTC)
	clean = Request{Keep: codec.Retentions{Default: codec.DefaultRetention}}
	quiet = slog.New(slog.DiscardHandler)
)

const old = "alice/20260101T000000-x.md"

// three is an entry with two versions, and files beside it, all of them old.
func three(b *bench) map[string]string {
	b.put(old, entry("note: 3\n"), 40)
	b.put(".ctxfs/versions/"+old+"/1", entry("note: 1\n"), 60)
	b.put(".ctxfs/versions/"+old+"/2", entry("note: 2\n"), 50)
	b.put("alice/s1/20260102T000000-y.md", entry(""), 40)
	b.put("alice/s1/notes.txt", "notes", 40)
	b.ok(os.Chmod(filepath.Join(b.dir, "alice/s1"), 0o750))
	return b.files()
}

func TestADryRunChangesNothing(t *testing.T) {
	b := newBench(t)
	before := three(b)
	r := clean
	r.DryRun = true
	events, err := b.do(r)
	b.ok(err)
	var lines []string
	for _, e := range events {
		text, err := json.Marshal(e)
		b.ok(err)
		lines = append(lines, string(text))
	}
	want := []string{
		`{"item":{"action":"archive","what":"entry","path":"alice/20260101T000000-x.md","versions":[1,2],"bytes":264,"time":"2026-02-10T12:00:00Z","why":"last changed 2026-02-10, kept for 30d"}}`,
		`{"item":{"action":"archive","what":"entry","path":"alice/s1/20260102T000000-y.md","bytes":80,"time":"2026-02-10T12:00:00Z","why":"last changed 2026-02-10, kept for 30d"}}`,
		`{"item":{"action":"archive","what":"scratch","path":"alice/s1/notes.txt","bytes":5,"time":"2026-02-10T12:00:00Z","why":"not touched since 2026-02-10, kept for 30d"}}`,
		`{"done":{"dryRun":true,"entries":2,"versions":0,"scratch":1,"results":0,"bytes":349,"kept":0}}`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("it told\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	b.want(before)
	if all, err := archive.List(t.Context(), b.store); err != nil || len(all) > 0 || len(b.told) > 0 {
		t.Errorf("archives %v, %v; told of %v", all, err, b.told)
	}
}

func TestWhatWasArchivedComesBackAsItWas(t *testing.T) {
	b := newBench(t)
	before := three(b)
	done := b.done(clean)
	if done.Entries != 2 || done.Scratch != 1 || done.Bytes != 349 || done.Archive == nil || len(b.told) != 3 {
		t.Fatalf("%+v, told of %v", done, b.told)
	}
	b.want(map[string]string{})
	name := done.Archive.Name
	listed, err := b.do(Request{List: &List{Archive: name}})
	b.ok(err)
	if n := len(listed); n != 6 {
		t.Errorf("the archive is listed with %d members", n)
	}
	for _, path := range []string{old, "alice/s1/20260102T000000-y.md", "alice/s1/notes.txt"} {
		b.done(Request{Restore: &Restore{Archive: name, Path: path}})
	}
	got := b.files()
	for path, text := range before {
		if got[path] != text {
			t.Errorf("%s is %q, it was %q", path, got[path], text)
		}
	}
	info, err := os.Stat(filepath.Join(b.dir, "alice/s1"))
	b.ok(err)
	if len(got) != len(before) || info.Mode().Perm() != 0o750 {
		t.Errorf("%d files, there were %d; the session's directory is %v", len(got), len(before), info.Mode())
	}
	// What came back counts as changed now, but for its old versions.
	if done := b.done(clean); done.Entries != 0 || done.Scratch != 0 || done.Versions != 1 {
		t.Errorf("what came back goes at once: %+v", done)
	}
}

func TestADamagedArchiveRemovesNothing(t *testing.T) {
	b := newBench(t)
	before := three(b)
	b.store.onPut = func(text []byte) []byte { return text[:len(text)-1] }
	events, err := b.do(clean)
	if err == nil || !strings.Contains(err.Error(), "nothing was removed") {
		t.Errorf("%+v, %v", events, err)
	}
	b.want(before)
	if all, err := archive.List(t.Context(), b.store); err != nil || len(all) > 0 {
		t.Errorf("it is still there: %v, %v", all, err)
	}
}

func TestWhatChangesWhileItIsArchivedStays(t *testing.T) {
	b := newBench(t)
	three(b)
	b.store.onPut = func(text []byte) []byte {
		b.put(old, entry("note: new\n"), 0)
		b.ok(os.Remove(filepath.Join(b.dir, "alice/s1/notes.txt")))
		return text
	}
	if done := b.done(clean); done.Entries != 1 || done.Scratch != 0 || done.Kept != 2 {
		t.Errorf("%+v", done)
	}
	if got := slices.Sorted(maps.Keys(b.files())); strings.Join(got, " ") !=
		".ctxfs/versions/"+old+"/1 .ctxfs/versions/"+old+"/2 "+old {
		t.Errorf("the store holds %v", got)
	}
}

func TestOnlyOldVersionsOfWhatStaysGo(t *testing.T) {
	b := newBench(t)
	before := three(b)
	b.put("bob/20260301T000000-z.md", entry("links: [alice/s1/20260102T000000-y.md, "+old+"]\nnote: notes.txt\n"), 1)
	done := b.done(clean)
	if done.Entries != 0 || done.Versions != 1 || done.Scratch != 1 || done.Kept != 2 {
		t.Fatalf("%+v", done)
	}
	b.done(Request{Restore: &Restore{Archive: done.Archive.Name, Path: old}})
	b.done(Request{Restore: &Restore{Archive: done.Archive.Name, Path: old}}) // as after a crash
	for path, text := range before {
		if got := b.files()[path]; path != "alice/s1/notes.txt" && got[10:] != text[10:] {
			t.Errorf("%s is %q, it was %q", path, got, text)
		}
	}
}

func TestARestoreReplacesNothing(t *testing.T) {
	b := newBench(t)
	three(b)
	name := b.done(clean).Archive.Name
	b.put(old, entry("note: another\n"), 0)
	before := b.files()
	for path, errno := range map[string]syscall.Errno{old: syscall.EEXIST, "alice/never.txt": syscall.ENOENT} {
		_, err := b.do(Request{Restore: &Restore{Archive: name, Path: path}})
		if refusal := (*codec.Refusal)(nil); !errors.As(err, &refusal) || refusal.Errno != errno || refusal.Fix == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, r := range []Request{{Restore: &Restore{Archive: "none", Path: old}}, {List: &List{Archive: "../x"}}} {
		if _, err := b.do(r); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	b.want(before)
}

func TestResultsOfSessionsThatHaveEndedAreCleared(t *testing.T) {
	b := newBench(t)
	b.put("results/s1-grep-abc123.json", "left by a daemon", 1)
	r := clean
	r.DryRun = true
	if done := b.done(r); done.Results != 1 || len(b.files()) != 1 {
		t.Errorf("%+v", done)
	}
	if done := b.done(clean); done.Results != 1 || len(b.files()) != 0 {
		t.Errorf("%+v, and there are %v", done, b.files())
	}
	at := now.Add(-40 * 24 * time.Hour)
	room, err := results.Open(t.Context(), b.store, results.Options{Log: quiet, Now: func() time.Time { return at }})
	b.ok(err)
	defer room.Close()
	b.Results = room
	for _, save := range []struct {
		session string
		days    int
	}{{"ended", 40}, {"goes-on", 40}, {"goes-on", 1}} {
		at = now.Add(-time.Duration(save.days) * 24 * time.Hour)
		_, err := room.Session(save.session).SaveContext(t.Context(), "grep", map[string]any{"day": save.days}, "found", "", "")
		b.ok(err)
	}
	at = now
	if done := b.done(clean); done.Results != 1 || len(room.List("ended")) != 0 || len(room.List("goes-on")) != 2 {
		t.Errorf("%+v, left %+v", done, room.List(""))
	}
	r = Request{Keep: codec.Retentions{}, Agent: "alice"}
	b.put(old, entry(""), 40)
	if done := b.done(r); done.Results != 0 || done.Entries != 1 {
		t.Errorf("for one agent: %+v", done)
	}
}

func TestManyFilesAreRemovedInBatches(t *testing.T) {
	b := newBench(t)
	for n := range batch + 10 {
		b.put(fmt.Sprintf("alice/s1/20260101T000000-%d.md", n), entry(""), 40)
	}
	if done := b.done(clean); done.Entries != batch+10 {
		t.Errorf("%+v", done)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "alice/s1")); !os.IsNotExist(err) {
		t.Errorf("the session's directory: %v", err)
	}
}
