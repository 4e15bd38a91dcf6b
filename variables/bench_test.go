package variables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var sizes = []int{10, 100, 1000, 10000, 100000, 1000000}

// BenchmarkRef shows that a ref takes the same time however many variables
// there are: at most 1 µs.
func BenchmarkRef(b *testing.B) {
	for _, count := range sizes {
		b.Run(fmt.Sprintf("session/%d", count), func(b *testing.B) {
			w := openWorld(b, Options{})
			for i := range count {
				w.set("session:s1", fmt.Sprint("key", i), "value")
			}
			keys := keysOf(count)
			i := 0
			b.ResetTimer()
			for b.Loop() {
				if _, err := w.Ref(bg, "session:s1", keys[i%len(keys)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.StopTimer()
		})
	}
	for _, count := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("file/%d", count), func(b *testing.B) {
			w := openWorld(b, Options{})
			w.set(Global, "key0", "value")
			for i := range count { // as other programs would, to be quick
				if err := os.WriteFile(w.file(fmt.Sprint("global/key", i)), []byte("value"), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			keys := keysOf(min(count, 1000))
			i := 0
			b.ResetTimer()
			for b.Loop() {
				if _, err := w.Ref(bg, Global, keys[i%len(keys)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.StopTimer()
		})
	}
}

// keysOf spreads 4096 keys over count.
func keysOf(count int) []string {
	keys := make([]string, min(count, 4096))
	for i := range keys {
		keys[i] = fmt.Sprint("key", i*(count/len(keys)))
	}
	return keys
}

var kilobyte = strings.Repeat("k", 1024)

func BenchmarkMemorySet1K(b *testing.B) {
	w := openWorld(b, Options{})
	for i := 0; b.Loop(); i++ {
		w.set("session:s1", fmt.Sprint(i%1000), kilobyte)
	}
}

func BenchmarkMemoryGet1K(b *testing.B) {
	w := openWorld(b, Options{})
	w.set("session:s1", "k", kilobyte)
	for b.Loop() {
		w.want("session:s1", "k", kilobyte)
	}
}

// BenchmarkFileSet1K against BenchmarkNativeSet1K: at most 1.3 of it.
func BenchmarkFileSet1K(b *testing.B) {
	w := openWorld(b, Options{})
	for i := 0; b.Loop(); i++ {
		w.set(Global, fmt.Sprint(i%100), kilobyte)
	}
}

// BenchmarkNativeSet1K is a temporary file, fsync, rename, fsync of the
// directory.
func BenchmarkNativeSet1K(b *testing.B) {
	dir := b.TempDir()
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for i := 0; b.Loop(); i++ {
		tmp := filepath.Join(dir, "tmp")
		f, err := os.Create(tmp)
		if err != nil {
			b.Fatal(err)
		}
		if _, err = f.WriteString(kilobyte); err == nil {
			err = unix.Fsync(int(f.Fd()))
		}
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = os.Rename(tmp, filepath.Join(dir, fmt.Sprint(i%100)))
		}
		if err == nil {
			err = unix.Fsync(int(d.Fd()))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFileGet against BenchmarkNativeGet: at most 1.2 of it.
func BenchmarkFileGet(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 16 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := openWorld(b, Options{})
			w.set(Global, "k", strings.Repeat("x", size))
			b.SetBytes(int64(size))
			b.ResetTimer()
			for b.Loop() {
				if _, err := w.Get(bg, Global, "k"); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
		})
	}
}

func BenchmarkNativeGet(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 16 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "k")
			if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := os.ReadFile(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
