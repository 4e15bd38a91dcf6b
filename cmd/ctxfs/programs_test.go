package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/google/renameio/v2"
)

// The programs here are run by the scripts, as processes of their own.

// exitOn ends the program with the error, if there is one.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goWriteFile is `go-writefile FILE`: standard input by os.WriteFile.
func goWriteFile() {
	text, err := io.ReadAll(os.Stdin)
	exitOn(err)
	exitOn(os.WriteFile(os.Args[1], text, 0o644))
}

// goRenameio is `go-renameio FILE`: standard input by renameio.
func goRenameio() {
	text, err := io.ReadAll(os.Stdin)
	exitOn(err)
	exitOn(renameio.WriteFile(os.Args[1], text, 0o644))
}

// probeFork is `probe-fork FILE`: writes half of an entry, lets a child that
// inherited the file end, writes the rest, and closes.
func probeFork() {
	f, err := os.Create(os.Args[1])
	exitOn(err)
	_, err = f.WriteString("---\ntype: fin")
	exitOn(err)
	child := exec.Command("true")
	child.ExtraFiles = []*os.File{f}
	exitOn(child.Run())
	_, err = f.WriteString("ding\n---\nwhole\n")
	exitOn(err)
	exitOn(f.Close())
}

// renamedAway is `renamed-away FILE BACKUP`: renames an entry as an editor
// does before it saves, says so, and ends without saving when its standard
// input ends.
func renamedAway() {
	exitOn(os.Rename(os.Args[1], os.Args[2]))
	_, err := os.Stat(os.Args[2])
	exitOn(err)
	_, err = io.Copy(io.Discard, os.Stdin)
	exitOn(err)
}

// notifySocket is `notify-socket SOCKET FILE`: writes the first message that
// comes to the socket, as systemd would get it, to the file.
func notifySocket() {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: os.Args[1], Net: "unixgram"})
	exitOn(err)
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	exitOn(err)
	exitOn(os.WriteFile(os.Args[2], buf[:n], 0o644))
}
