package localdir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

func TestACreateThatFailsToSyncLeavesNothing(t *testing.T) {
	dir := realDir(t)
	s := openStore(t, dir, Options{})
	defer s.Close()
	s.ordered = true
	_, err := s.MakeDir(context.Background(), "d", 0o755)
	must(t, err)
	r := record(t, s, dir)
	r.fail = "d"
	_, err = s.Put(context.Background(), "d/a", strings.NewReader("new"), backing.PutOptions{If: backing.Absent})
	wantErr(t, err, unix.EIO)
	_, err = s.Stat(context.Background(), "d/a")
	wantErr(t, err, backing.ErrNotFound)
	wantEmpty(t, filepath.Join(dir, ".ctxfs/staging"))
}

func TestAnEditByAnotherProgramAtTheLastMomentStays(t *testing.T) {
	dir := realDir(t)
	s := openStore(t, dir, Options{})
	defer s.Close()
	s.ordered = true
	m := putString(t, s, "a", "old", backing.PutOptions{})
	var once sync.Once
	real := s.writeOut
	s.writeOut = func(fd int) error {
		once.Do(func() {
			tmp := filepath.Join(dir, "tmp")
			must(t, errors.Join(os.WriteFile(tmp, []byte("edited"), 0o600), os.Rename(tmp, filepath.Join(dir, "a"))))
		})
		return real(fd)
	}
	p := &put{s: s, key: "a", name: "a", o: backing.PutOptions{If: m.Revision}}
	var err error
	p.dir, err = s.parent("a")
	must(t, err)
	defer unix.Close(p.dir)
	seen, err := p.look()
	must(t, err)
	p.staged, err = s.stage(context.Background(), strings.NewReader("new"))
	must(t, err)
	must(t, s.writeOut(p.staged.fd))
	again, err := p.publishOrdered(seen)
	if !again || err != nil || p.published {
		t.Fatalf("again %v, published %v, %v", again, p.published, err)
	}
	wantContent(t, s, "a", "edited")
	must(t, p.staged.drop())
}
