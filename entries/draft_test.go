package entries

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"ctxfs/backing"
	"ctxfs/room"
)

var _ room.Draft = (*draft)(nil)

func TestDraftIsItsWritersAlone(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, false)
	_, err := d.Append([]byte("More.\n"))
	b.ok(err)
	b.want(one, valid)
	own := make([]byte, d.Size())
	if _, err := d.ReadAt(own, 0); err != nil || string(own) != valid+"More.\n" {
		t.Errorf("the draft holds %q, %v", own, err)
	}
	if info := d.Info(); info.Size != int64(len(valid)+6) {
		t.Errorf("the draft has %d bytes", info.Size)
	}
	b.ok(d.Close())
	b.want(one, valid)
	b.wantVersions(one, 0)
}

func TestOpenedAndClosedChangesNothing(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	before, err := b.Stat(ctx, one)
	b.ok(err)
	d := b.draft(alice, one, false)
	if d.Changed() || d.Size() != int64(len(valid)) {
		t.Errorf("changed %v, size %d", d.Changed(), d.Size())
	}
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	if after, err := b.Stat(ctx, one); err != nil || after != before {
		t.Errorf("was %+v, is %+v, %v", before, after, err)
	}
}

func TestWriteRefusesWhatCannotBecomeAnEntry(t *testing.T) {
	whole := "---\ntype: wrong\n---\n"
	for name, writes := range map[string][]string{
		"no fence":        {"# Title\n"},
		"one byte":        {"x"},
		"late":            {"---\n", "type: finding\n", "type: finding\n", "---\n", "body\n"},
		"all at once":     {whole},
		"byte for byte":   strings.Split(whole, ""),
		"fence in pieces": {"---\ntype: wrong\n--", "-", "\nbody"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			d := b.draft(alice, one, false)
			var err error
			for i, off := 0, int64(0); i < len(writes) && err == nil; i++ {
				_, err = d.WriteAt([]byte(writes[i]), off)
				off += int64(len(writes[i]))
			}
			wantErrno(t, err, syscall.EINVAL)
			wantErrno(t, d.Commit(ctx), syscall.EINVAL)
			b.ok(d.Close())
		})
	}
}

func TestLongFrontmatterWrittenByBytesIsChecked(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	text := "---\ntype: finding\n" + strings.Repeat("#\n", 2000) + "---\n"
	for i := range len(text) {
		if _, err := d.WriteAt([]byte{text[i]}, int64(i)); err != nil {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if d.prefix.on {
		t.Error("the end of the frontmatter was not seen")
	}
	if d.prefix.asks > 3*lineAsks {
		t.Errorf("the codec was asked %d times", d.prefix.asks)
	}
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
}

// rsync --inplace, bun, dd conv=notrunc.
func TestEditInPlaceMayBeInvalidUntilCommit(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, false)
	for _, text := range []string{"xxx", "---"} {
		_, err := d.WriteAt([]byte(text), 0)
		b.ok(err)
	}
	shorter := strings.Replace(valid, "Text.\n", "T.\n", 1)
	_, err := d.WriteAt([]byte(shorter), 0)
	b.ok(err)
	b.ok(d.Truncate(int64(len(shorter))))
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	if got := b.read(one); !strings.HasPrefix(got, shorter) {
		t.Errorf("committed %q", got)
	}
}

func TestHeaderWrittenLastIsTaken(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(valid[10:]), 10)
	b.ok(err)
	_, err = d.WriteAt([]byte(valid[:10]), 0)
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	b.want(one, valid)
}

func TestTooLongEntryIsRefusedWhole(t *testing.T) {
	b := newBench(t)
	d := b.draft(alice, one, false)
	_, err := d.WriteAt([]byte(valid), 0)
	b.ok(err)
	_, err = d.WriteAt([]byte("x"), MaxSize)
	wantErrno(t, err, syscall.EFBIG)
	wantErrno(t, d.Truncate(MaxSize+1), syscall.EFBIG)
	wantErrno(t, d.Commit(ctx), syscall.EFBIG)
	b.ok(d.Truncate(0))
	_, err = d.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	b.want(one, valid)
}

func TestLongEntryIsStored(t *testing.T) {
	b := newBench(t)
	long := valid + strings.Repeat("A line of thirty-two characters\n", 3*room.BufferMemory/32)
	b.mustSave(alice, one, long)
	b.want(one, long)
	d := b.draft(alice, one, false)
	_, err := d.Append([]byte("end\n"))
	b.ok(err)
	b.ok(d.Commit(ctx))
	b.ok(d.Close())
	if got := b.read(one); !strings.Contains(got, "characters\nend\n") {
		t.Errorf("the appended line is not at the end of the body: …%q", got[len(got)-200:])
	}
}

func TestEmptyingAnEntryIsRefused(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, true)
	if !d.Changed() {
		t.Error("a draft cut to nothing counts as unchanged")
	}
	wantErrno(t, d.Commit(ctx), syscall.EINVAL)
	b.ok(d.Close())
	b.want(one, valid)
}

// The store fails while the draft is written: what reached the draft is not
// what the writer wrote.
func TestDraftThatMissedAWriteIsNotCommitted(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, true)
	_, err := d.WriteAt([]byte(valid), 0)
	b.ok(err)
	b.ok(d.buf.Close())
	if _, err := d.Append([]byte("lost")); err == nil {
		t.Fatal("a write to a closed buffer succeeded")
	}
	if err := d.Commit(ctx); err == nil {
		t.Error("the draft was committed without what it missed")
	}
	b.ok(d.Close())
	b.want(one, valid)
}

func TestFirstNamedWriterIsTheAuthor(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, true)
	d.By(bob)
	d.By(alice)
	_, err := d.WriteAt([]byte(valid+"More.\n"), 0)
	b.ok(err)
	b.ok(d.Sync())
	b.ok(d.Close())
	b.wantChangelog(one, "[bob]")
}

func TestDraftOfAnEntryEditedFromOutsideReadsWhatIsThere(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	d := b.draft(alice, one, false)
	b.onDisk(one, valid+"From outside, in place.\n")
	got := make([]byte, 4096)
	n, _ := d.ReadAt(got, 0)
	if !bytes.HasSuffix(got[:n], []byte("in place.\n")) {
		t.Errorf("the draft reads %q", got[:n])
	}
	b.ok(d.Close())
}

func TestWriteInAMissingDirectoryIsNotFound(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"nobody/20260221T143022-x.md", "nobody/notes.txt"} {
		if _, _, err := b.Write(ctx, alice, path, room.Create{New: true, Mode: 0o644}); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
