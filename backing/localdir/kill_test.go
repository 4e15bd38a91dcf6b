package localdir

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/storetest"
)

// In a child process of the tests one of these names the store that it opens:
// to hold it, or to write to it until it is killed.
const (
	holdEnv  = "CTXFS_TEST_HOLD"
	writeEnv = "CTXFS_TEST_WRITE"
)

func TestMain(m *testing.M) {
	for name, run := range map[string]func(s *Store) error{holdEnv: hold, writeEnv: writeOn} {
		if dir := os.Getenv(name); dir != "" {
			s, err := Open(dir, Options{})
			if err == nil {
				err = run(s)
			}
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// hold begins a put that never ends.
func hold(s *Store) error {
	st, err := s.newStaged()
	if err != nil {
		return err
	}
	fmt.Println(st.name)
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// writeOn overwrites one object, and says each number when it is on disk.
func writeOn(s *Store) error {
	for i := 1; ; i++ {
		_, err := s.Put(context.Background(), "a", strings.NewReader(numbered(i)), backing.PutOptions{KeepVersion: true})
		if err != nil {
			return err
		}
		fmt.Println(i)
	}
}

func numbered(i int) string { return strings.Repeat(strconv.Itoa(i)+"\n", 3000) }

func TestAKilledWriterLeavesEveryContentWhole(t *testing.T) {
	for round := range 8 {
		dir := t.TempDir()
		child, said := startChild(t, writeEnv, dir)
		last := 0
		for range 3 + 5*round {
			n, err := strconv.Atoi(next(t, said))
			must(t, err)
			last = n
		}
		must(t, child.Process.Kill())
		_ = child.Wait() // "signal: killed"

		s := openStore(t, dir, Options{})
		storetest.CheckConsistent(t, s)
		list, err := s.Versions(context.Background(), "a")
		must(t, err)
		if len(list) < last-1 {
			t.Fatalf("%d versions, %d puts were acknowledged", len(list), last)
		}
		for i, v := range list {
			if v.N != i+1 || v.Size != int64(len(numbered(v.N))) {
				t.Fatalf("version %d: %+v", i+1, v)
			}
		}
		wantContent(t, s, "a", numbered(len(list)+1))
		putString(t, s, "a", "after", backing.PutOptions{KeepVersion: true})
		if after, err := s.Versions(context.Background(), "a"); err != nil || len(after) != len(list)+1 {
			t.Fatalf("%d versions, then %d, %v", len(list), len(after), err)
		}
		must(t, s.Close())
	}
}

// startChild starts a process of the kind that env names, and returns what it
// says, line by line.
func startChild(t *testing.T, env, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), env+"="+dir)
	child.Stderr = t.Output()
	stdin, err := child.StdinPipe()
	must(t, err)
	t.Cleanup(func() { stdin.Close() })
	stdout, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() }) // mostly it is dead already
	return child, bufio.NewReader(stdout)
}

func next(t *testing.T, said *bufio.Reader) string {
	t.Helper()
	line, err := said.ReadString('\n')
	must(t, err)
	return strings.TrimSpace(line)
}
