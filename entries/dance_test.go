package entries

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
	"ctxfs/room"
)

const backup = "alice/20260221T143022-one.md~"

var vim = room.Caller{PID: 4711, UID: uint32(unix.Getuid()), GID: uint32(unix.Getgid()), Agent: "vim"}

// toBackup begins the dance.
func toBackup(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.ok(b.Rename(ctx, vim, one, backup, 0))
	return b
}

// until watches until the entry is told to have changed and shows.
func (b *bench) untilShown(path string) {
	b.t.Helper()
	watching, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	told := make(chan string, 1000)
	done := make(chan error, 1)
	go func() { done <- b.Watch(watching, func(path string, deep bool) { told <- path }) }()
	for {
		if _, err := b.Stat(ctx, path); err == nil {
			stop()
			b.ok(<-done)
			return
		}
		select {
		case <-told:
		case <-watching.Done():
			b.t.Fatalf("%s stays hidden", path)
		}
	}
}

func TestEntryRenamedToABackupIsHiddenButStored(t *testing.T) {
	b := toBackup(t)
	b.wantGone(one)
	if names := b.names("alice"); len(names) != 1 || "alice/"+names[0] != backup {
		t.Errorf("lists %q", names)
	}
	b.want(backup, valid)
	if info := infoOf(b, backup); info.Kind != room.Plain {
		t.Errorf("the backup is %+v", info)
	}
	if m, err := b.store.Stat(ctx, one); err != nil || m.Size != int64(len(valid)) {
		t.Errorf("the store has %+v, %v", m, err)
	}
	if _, _, err := b.Write(ctx, vim, one, room.Create{}); !errors.Is(err, backing.ErrNotFound) {
		t.Errorf("opened without O_CREAT: %v", err)
	}
}

func TestNewVersionAfterABackupIsAnOverwrite(t *testing.T) {
	b := toBackup(t)
	f, _, err := b.Write(ctx, vim, one, room.Create{New: true, Exclusive: true, Mode: 0o600})
	b.ok(err)
	d := f.(room.Draft)
	if d.Size() != 0 {
		t.Errorf("the new version begins with %d bytes", d.Size())
	}
	b.want(one, valid) // readers see the old one meanwhile
	_, err = f.WriteAt([]byte(valid+"More.\n"), 0)
	b.ok(err)
	b.ok(f.Sync())
	b.ok(f.Close())
	b.ok(b.Remove(ctx, vim, backup))
	b.wantChangelog(one, "[vim]")
	b.wantVersions(one, 1)
	if info := infoOf(b, one); info.Mode != 0o644 {
		t.Errorf("the overwrite changed the mode to %v", info.Mode)
	}
}

// patch -b
func TestNewVersionAfterABackupMayComeByRename(t *testing.T) {
	b := toBackup(t)
	b.write(temporary, valid+"More.\n", 0o644)
	b.ok(b.Rename(ctx, vim, temporary, one, unix.RENAME_NOREPLACE))
	b.wantChangelog(one, "[vim]")
	b.want(backup, valid)
}

func TestBackupRenamedBackRestores(t *testing.T) {
	b := toBackup(t)
	b.ok(b.Rename(ctx, vim, backup, one, 0))
	b.want(one, valid)
	b.wantGone(backup)
	b.wantVersions(one, 0)
}

func TestEntryShowsAgainWhenTheRenamerHasEnded(t *testing.T) {
	b := toBackup(t)
	b.mu.Lock()
	b.dead[vim.PID] = true
	b.mu.Unlock()
	b.untilShown(one)
	b.want(one, valid)
}

func TestEntryShowsAgainAfterItsTime(t *testing.T) {
	b := toBackup(t)
	b.pass(DanceTime - time.Millisecond)
	b.wantGone(one)
	b.pass(time.Millisecond)
	b.want(one, valid)
}

func TestEndOfADanceIsTold(t *testing.T) {
	b := toBackup(t)
	watching, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	b.pass(DanceTime)
	told := false
	b.ok(b.Watch(watching, func(path string, deep bool) {
		if path == one {
			told = true
			stop()
		}
	}))
	if !told {
		t.Error("nobody was told that the entry shows again")
	}
}

func TestEmptyNewVersionShowsTheOldOne(t *testing.T) {
	b := toBackup(t)
	f, _, err := b.Write(ctx, vim, one, room.Create{New: true, Mode: 0o644})
	b.ok(err)
	b.ok(f.Sync())
	b.ok(f.Close())
	b.want(one, valid)
}

func TestRefusedNewVersionShowsTheOldOne(t *testing.T) {
	b := toBackup(t)
	wantErrno(t, b.save(vim, one, invalid), syscall.EINVAL)
	b.want(one, valid)
	b.want(backup, valid)
}

func TestBackupReplacesAnOlderBackup(t *testing.T) {
	b := newBench(t)
	b.mustSave(alice, one, valid)
	b.write(backup, "older", 0o644)
	if err := b.Rename(ctx, vim, one, backup, unix.RENAME_NOREPLACE); !errors.Is(err, backing.ErrExists) {
		t.Errorf("RENAME_NOREPLACE onto a backup: %v", err)
	}
	b.want(one, valid)
	b.ok(b.Rename(ctx, vim, one, backup, 0))
	b.want(backup, valid)
}

func TestProcessesAreLookedUpInProc(t *testing.T) {
	if !aliveInProc(uint32(os.Getpid())) {
		t.Error("this process is taken for dead")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if aliveInProc(uint32(ended.Process.Pid)) {
		t.Error("a process that has ended is taken for alive")
	}
}
