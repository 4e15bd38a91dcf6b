package localdir

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
)

func TestPlantedLinksLeadNowhere(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
	s := openStore(t, dir, Options{})
	defer s.Close()
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "file")))
	must(t, os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "dangling")))
	must(t, os.Symlink("/proc/self/root"+outside, filepath.Join(dir, "magic")))
	for _, s := range []*Store{s, walking(s)} {
		for _, key := range []backing.Key{"out/secret", "file", "dangling", "magic/secret", "out/new"} {
			if touched := everyCall(s, key); len(touched) > 0 {
				t.Errorf("%s: %s got through", key, touched)
			}
		}
	}
	wantOnlySecret(t, outside)
}

// everyCall tries to reach key in all ways and names those that did.
func everyCall(s *Store, key backing.Key) (reached []string) {
	ctx := context.Background()
	try := func(name string, err error) {
		if err == nil {
			reached = append(reached, name)
		}
	}
	c, err := s.Open(ctx, key, "")
	try("Open", err)
	if err == nil {
		c.Close()
	}
	_, err = s.Put(ctx, key, strings.NewReader("evil"), backing.PutOptions{KeepVersion: true})
	try("Put", err)
	_, err = s.Append(ctx, key, []byte("evil"))
	try("Append", err)
	for _, flags := range []int{os.O_RDONLY, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_TRUNC} {
		f, err := s.OpenFile(ctx, key, flags, 0o644)
		try("OpenFile", err)
		if err == nil {
			f.Close()
		}
	}
	try("Sync", s.Sync(ctx, key))
	try("Remove", s.Remove(ctx, key, ""))
	_, err = s.MakeDir(ctx, key+"/d", 0o755)
	try("MakeDir", err)
	_, err = s.List(ctx, key, "", 10)
	try("List", err)
	return reached
}

func wantOnlySecret(t *testing.T, outside string) {
	t.Helper()
	list, err := os.ReadDir(outside)
	must(t, err)
	body, err := os.ReadFile(filepath.Join(outside, "secret"))
	must(t, err)
	if len(list) != 1 || string(body) != "secret" {
		t.Fatalf("outside now has %v, secret is %q", list, body)
	}
}

func TestADirectorySwappedForALinkMeanwhileLeadsNowhere(t *testing.T) {
	for _, walk := range []bool{false, true} {
		dir, outside := t.TempDir(), t.TempDir()
		must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
		s := openStore(t, dir, Options{})
		s.tree.walk = walk
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "d", "secret"), []byte("inside"), 0o644))
		must(t, os.Symlink(outside, filepath.Join(dir, "l")))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					exchange(filepath.Join(dir, "d"), filepath.Join(dir, "l"))
				}
			}
		}()
		ctx := context.Background()
		end := time.Now().Add(10 * time.Second)
		for inside, barred := 0, 0; inside < 50 || barred < 50; {
			if time.Now().After(end) {
				t.Errorf("it was there %d times and not %d times: too little was tested", inside, barred)
				break
			}
			c, err := s.Open(ctx, "d/secret", "")
			if err != nil {
				barred++
			} else {
				buf := make([]byte, c.Size())
				_, err := c.ReadAt(buf, 0)
				if string(buf) != "inside" {
					t.Errorf("%q was read, %v", buf, err)
				}
				c.Close()
				inside++
			}
			// Errors are as good as success: only where it lands matters.
			_, _ = s.Put(ctx, "d/new", strings.NewReader("x"), backing.PutOptions{KeepVersion: inside%2 == 0})
			_, _ = s.Append(ctx, "d/log", []byte("x"))
		}
		close(stop)
		<-stopped
		must(t, s.Close())
		wantOnlySecret(t, outside)
	}
}

func TestFifosDevicesAndSocketsNeitherBlockNorAreTouched(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	planted := []backing.Key{"fifo", "sock"}
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	must(t, err)
	defer l.Close()
	if os.Geteuid() == 0 {
		must(t, syscall.Mknod(filepath.Join(dir, "zero"), syscall.S_IFCHR|0o666, 1<<8|5))
		planted = append(planted, "zero")
	} else {
		t.Log("not root: the device is left out")
	}
	for _, key := range planted {
		done := make(chan []string, 1)
		go func() { done <- everyCall(s, key) }()
		select {
		case reached := <-done:
			if len(reached) > 0 {
				t.Errorf("%s: %s got through", key, reached)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s blocks", key)
		}
		_, err := s.Open(context.Background(), key, "")
		wantErr(t, err, backing.ErrNotRegular)
		m, err := s.Stat(context.Background(), key)
		must(t, err)
		if !m.Special || m.Link || m.Dir {
			t.Errorf("meta of %s: %+v", key, m)
		}
	}
}

func TestOwnPartsOfTheStoreAreNoKeys(t *testing.T) {
	s := newStore(t)
	defer s.Close()
	for _, key := range []backing.Key{stagingDir, versionsDir, lockFile, layoutFile, stagingDir + "/x", versionsDir + "/a/1", backing.Own} {
		_, err := s.Put(context.Background(), key, strings.NewReader("x"), backing.PutOptions{})
		wantErr(t, err, backing.ErrBadKey)
		wantErr(t, s.Remove(context.Background(), key, ""), backing.ErrBadKey)
		wantErr(t, s.Rename(context.Background(), "a", key, 0), backing.ErrBadKey)
		if key == backing.Own {
			continue
		}
		_, err = s.Stat(context.Background(), key)
		wantErr(t, err, backing.ErrBadKey)
		_, err = s.List(context.Background(), key, "", 1)
		wantErr(t, err, backing.ErrBadKey)
	}
}

func TestSpecialBitsOfAFileAreDroppedByTheNextPut(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	defer s.Close()
	path := filepath.Join(dir, "a")
	must(t, os.WriteFile(path, []byte("x"), 0o755))
	must(t, os.Chmod(path, 0o755|fs.ModeSetuid|fs.ModeSetgid))
	putString(t, s, "a", "y", backing.PutOptions{})
	st, err := os.Stat(path)
	must(t, err)
	if st.Mode() != 0o755 {
		t.Fatalf("mode %v", st.Mode())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, not %v", err, want)
	}
}

func putString(t testing.TB, s *Store, key backing.Key, body string, o backing.PutOptions) backing.Meta {
	t.Helper()
	m, err := s.Put(context.Background(), key, strings.NewReader(body), o)
	must(t, err)
	return m
}
