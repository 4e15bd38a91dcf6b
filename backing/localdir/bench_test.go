package localdir

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ctxfs/backing"
)

var body4K = bytes.Repeat([]byte("0123456789abcde\n"), 256)

// BenchmarkNativeCreate is what BenchmarkPutCreate is measured against: the
// same steps by hand.
func BenchmarkNativeCreate(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		nativePut(b, dir, fmt.Sprintf("k%d", i))
	}
}

// BenchmarkNativeOverwrite replaces one file again and again.
func BenchmarkNativeOverwrite(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		nativePut(b, dir, "k")
	}
}

func nativePut(b *testing.B, dir, name string) {
	tmp := filepath.Join(dir, "tmp")
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(body4K)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name))
	}
	var d *os.File
	if err == nil {
		d, err = os.Open(dir)
	}
	if err == nil {
		err = d.Sync()
	}
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPutCreate(b *testing.B) {
	s := benchStore(b)
	for i := 0; b.Loop(); i++ {
		benchPut(b, s, backing.Key(fmt.Sprintf("agent/k%d", i)), backing.PutOptions{If: backing.Absent})
	}
}

func BenchmarkPutOverwrite(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		benchPut(b, s, "agent/k", backing.PutOptions{})
	}
}

func BenchmarkPutOverwriteKeepVersion(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		benchPut(b, s, "agent/k", backing.PutOptions{KeepVersion: true})
	}
}

func BenchmarkPutCreateParallel(b *testing.B) {
	s := benchStore(b)
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		dir := backing.Key(fmt.Sprintf("agent/%x", unix.Gettid()))
		if _, err := s.MakeDir(context.Background(), dir, 0o755); err != nil {
			dir = "agent"
		}
		for i := 0; pb.Next(); i++ {
			if _, err := s.Put(context.Background(), dir.Join(fmt.Sprintf("k%d", i)), bytes.NewReader(body4K), backing.PutOptions{}); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkStat(b *testing.B) {
	s := benchStore(b)
	benchPut(b, s, "agent/k", backing.PutOptions{})
	for b.Loop() {
		if _, err := s.Stat(context.Background(), "agent/k"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenReadClose(b *testing.B) {
	s := benchStore(b)
	benchPut(b, s, "agent/k", backing.PutOptions{})
	buf := make([]byte, 8192)
	for b.Loop() {
		c, err := s.Open(context.Background(), "agent/k", "")
		if err != nil {
			b.Fatal(err)
		}
		if n, _ := c.ReadAt(buf, 0); n != len(body4K) {
			b.Fatal(n)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchStore(b *testing.B) *Store {
	s := newStore(b)
	b.Cleanup(func() { s.Close() })
	if _, err := s.MakeDir(context.Background(), "agent", 0o755); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchPut(b *testing.B, s *Store, key backing.Key, o backing.PutOptions) {
	if _, err := s.Put(context.Background(), key, bytes.NewReader(body4K), o); err != nil {
		b.Fatal(err)
	}
}
