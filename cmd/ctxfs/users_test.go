package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// testUsers are those of a matrix of rights: the owner of the files, a member
// of their group, somebody else. Only the numbers matter.
var testUsers = []struct {
	name     string
	uid, gid int
}{{"owner", 65501, 65501}, {"group", 65502, 65501}, {"other", 65503, 65503}}

// userMatrix is `user-matrix FILE`. Each line of the file is an operation, a
// path, and what it comes to for each of testUsers: ok or the name of an
// errno. It prints what came otherwise.
func userMatrix() {
	f, err := os.Open(os.Args[1])
	exitOn(err)
	wrong, rows := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2+len(testUsers) || attempts[fields[0]] == nil {
			exitOn(fmt.Errorf("no row of a matrix: %s", lines.Text()))
		}
		rows++
		for i, u := range testUsers {
			got := errnoName(asUser(u.uid, u.gid, func() error { return attempts[fields[0]](fields[1]) }))
			if want := fields[2+i]; got != want {
				fmt.Printf("%s %s by %s: %s, not %s\n", fields[0], fields[1], u.name, got, want)
				wrong++
			}
		}
	}
	if wrong > 0 || rows == 0 {
		exitOn(fmt.Errorf("%d of %d rows are wrong", wrong, rows))
	}
}

// asUser calls do on a thread that belongs to the user, which ends with it:
// on Linux a thread has an identity of its own.
func asUser(uid, gid int, do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, 0, 0, 0},
			{unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				result <- fmt.Errorf("become user %d: %w", uid, errno)
				return
			}
		}
		result <- do()
	}()
	return <-result
}

func errnoName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// attempts are the operations. Each leaves everything as it was.
var attempts = map[string]func(path string) error{
	"read": func(path string) error {
		_, err := os.ReadFile(path)
		return err
	},
	"write": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		return f.Close()
	},
	"list": func(path string) error {
		_, err := os.ReadDir(path)
		return err
	},
	"create": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), os.Remove(path))
	},
	"mkdir": func(path string) error {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		return os.Remove(path)
	},
	"rename": func(path string) error {
		if err := os.Rename(path, path+"-moved"); err != nil {
			return err
		}
		return os.Rename(path+"-moved", path)
	},
	"unlink": os.Remove,
	"chmod": func(path string) error {
		is, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Chmod(path, is.Mode())
	},
	"suid": func(path string) error {
		is, err := os.Stat(path)
		if err == nil {
			err = os.Chmod(path, is.Mode()|os.ModeSetuid|os.ModeSetgid)
		}
		now, serr := os.Stat(path)
		if serr == nil && now.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			serr = errors.New("kept")
		}
		return errors.Join(err, serr)
	},
	"chown":    func(path string) error { return os.Lchown(path, 65503, -1) },
	"chgrp":    func(path string) error { return os.Lchown(path, -1, 65501) },
	"getxattr": func(path string) error { return getXattr(path, "user.ctxfs.tags") },
	"getref":   func(path string) error { return getXattr(path, "user.ctxfs.ref") },
	"settype": func(path string) error {
		return unix.Setxattr(path, "user.ctxfs.type", []byte("text"), 0)
	},
}

func getXattr(path, name string) error {
	_, err := unix.Getxattr(path, name, make([]byte, 4096))
	return err
}

func TestAsUserDoesNotChangeTheRestOfTheProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may become somebody else")
	}
	var uid int
	if err := asUser(65501, 65501, func() error { uid = unix.Geteuid(); return nil }); err != nil {
		t.Fatal(err)
	}
	if uid != 65501 || unix.Geteuid() != 0 {
		t.Errorf("user %d in the thread, %d outside", uid, unix.Geteuid())
	}
}
