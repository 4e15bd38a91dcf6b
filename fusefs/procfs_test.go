package fusefs

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOnlyDescriptorsThatCanWriteHoldAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a name (deleted)")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	pid := uint32(os.Getpid())
	holds := func() bool { return holdsForWriting(pid, "a name", st.Ino, false) }
	if !holds() {
		t.Error("an open writer is not seen")
	}
	if holdsForWriting(pid, "a name", st.Ino, true) {
		t.Error("a descriptor that an exec closes is taken for a lasting one")
	}
	if holdsForWriting(pid, "a name", st.Ino+1, false) || holdsForWriting(pid, "name", st.Ino, false) {
		t.Error("another file is taken for it")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if holds() {
		t.Error("a reader is taken for a holder")
	}
}

func TestStatWithAHostileNameIsTakenApart(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 START 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 ENV 48"
	for _, name := range []string{"sh", "a) S 1 (b", "x y", ""} {
		comm, start := parseStat([]byte("42 (" + name + ")" + rest))
		if comm != name || start != "START@ENV" {
			t.Errorf("%q: got name %q, start %q", name, comm, start)
		}
	}
	for _, bad := range []string{"", ")(", "42 sh S"} {
		if comm, start := parseStat([]byte(bad)); comm != "" || start != "" {
			t.Errorf("%q: got name %q, start %q", bad, comm, start)
		}
	}
}

// child starts a process that waits, with just this environment.
func child(t *testing.T, env ...string) uint32 {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		cmd.Wait() // says that it was killed
	})
	return uint32(cmd.Process.Pid)
}

func TestWhoWritesIsWhatTheEnvironmentSays(t *testing.T) {
	uid := uint32(os.Getuid())
	for _, c := range []struct {
		name           string
		fallback       string
		env            []string
		uid            uint32
		agent, session string
	}{
		{"own name first", "mount", []string{"CTXFS_AGENT=bob", "SFA_CALL_CHAIN=x,y", "SFA_SESSION_ID=s1"}, uid, "bob", "s1"},
		{"last of the chain", "mount", []string{"SFA_CALL_CHAIN=planner, fixer "}, uid, "fixer", ""},
		{"the mount's agent", "mount", nil, uid, "mount", ""},
		{"the program's name", "", []string{"OTHER=1"}, uid, "sleep", ""},
		{"no forged line", "", []string{"CTXFS_AGENT=a]: x\n- 2026 [b"}, uid, "a: x- 2026 [b", ""},
		{"not another user's", "mount", []string{"CTXFS_AGENT=bob"}, uid + 1, "mount", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			agent, session := newIdentities(c.fallback).of(child(t, c.env...), c.uid)
			if agent != c.agent || session != c.session {
				t.Errorf("agent %q, session %q; want %q, %q", agent, session, c.agent, c.session)
			}
		})
	}
}

func TestLabelsOfAnExecAreReadAnew(t *testing.T) {
	// A shell that opens a redirection and then becomes the program is one
	// process with two environments.
	cmd := exec.Command("sh", "-c", "read go; exec env CTXFS_AGENT=after sleep 60")
	cmd.Env = []string{"CTXFS_AGENT=before", "PATH=" + os.Getenv("PATH")}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGKILL); cmd.Wait() })
	who, pid, uid := newIdentities(""), uint32(cmd.Process.Pid), uint32(os.Getuid())
	await := func(want string) {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for agent := ""; agent != want; agent, _ = who.of(pid, uid) {
			if time.Now().After(deadline) {
				t.Fatalf("it is %q, not %q", agent, want)
			}
		}
	}
	await("before") // an exec that has just succeeded shows no environment yet
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	await("after")
}

func TestALabelThatComesLateIsKnownFromThenOn(t *testing.T) {
	who, pid, uid := newIdentities("mount"), child(t), uint32(os.Getuid())
	busy := make(chan bool)
	var asked atomic.Int64
	who.ask = func(uint32) label {
		asked.Add(1)
		<-busy
		return label{agent: "bob", session: "s1"}
	}
	for range 3 {
		if agent, session := who.of(pid, uid); agent != "mount" || session != "" {
			t.Errorf("without an answer it is agent %q, session %q", agent, session)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("a process that does not answer was asked %d times", n)
	}
	close(busy)
	deadline := time.Now().Add(time.Minute)
	for agent, session := who.of(pid, uid); agent != "bob" || session != "s1"; agent, session = who.of(pid, uid) {
		if time.Now().After(deadline) {
			t.Fatalf("after the answer it is still agent %q, session %q", agent, session)
		}
	}
}

func TestALookThatGetsNoAnswerEnds(t *testing.T) {
	never := make(chan bool)
	defer close(never)
	if !within(true, func() bool { return <-never }) {
		t.Error("no answer must count as the late one")
	}
}

func TestWhoBeganBeforeIsKnown(t *testing.T) {
	before := sinceBoot()
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := uint32(child.Process.Pid)
	if beganBefore(pid, before) {
		t.Error("a child is taken for older than it is")
	}
	if !beganBefore(pid, sinceBoot()+2*tick) {
		t.Error("a child that began before is not known as such")
	}
	if beganBefore(pid, 0) {
		t.Error("where no time is known, somebody began before it")
	}
	child.Process.Kill()
	child.Wait()
	if !beganBefore(pid, before) {
		t.Error("a child that has ended is looked at")
	}
}
