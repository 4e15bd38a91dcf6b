package transfer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ctxfs/backing"
	"ctxfs/backing/localdir"
	"ctxfs/backing/postgres"
	"ctxfs/backing/postgres/pgtest"
)

// benched is how many entries BenchmarkCopy copies, each of 4 KiB and with a
// version.
const benched = 2000

// BenchmarkCopy copies a store and compares both, as `ctxfs copy` does before
// its checks. The server's commits wait for the disk.
func BenchmarkCopy(b *testing.B) {
	c, err := pgtest.Start(pgtest.Options{Durable: true})
	must(b, err)
	b.Cleanup(func() { must(b, c.Stop()) })
	open := map[string]func() Store{
		"directory": func() Store {
			s, err := localdir.Open(b.TempDir(), localdir.Options{})
			must(b, err)
			return s
		},
		"database": func() Store {
			url, err := c.Schema(context.Background())
			must(b, err)
			s, err := postgres.Open(context.Background(), url, postgres.Options{Cache: -1})
			must(b, err)
			return s
		},
	}
	for from := range open {
		src := open[from]()
		fillMany(b, src)
		for to := range open {
			b.Run(from+" to "+to, func(b *testing.B) { benchmarkCopy(b, src, open[to]) })
		}
		must(b, src.Close())
	}
}

func benchmarkCopy(b *testing.B, src Store, open func() Store) {
	for b.Loop() {
		b.StopTimer()
		dst := open()
		_, err := Begin(context.Background(), src, dst, "src", all)
		must(b, err)
		b.StartTimer()
		stats, err := Run(context.Background(), src, dst, Options{Part: all, Owners: true})
		if err != nil || stats.Objects != benched || stats.Versions != benched {
			b.Fatalf("%+v, %v", stats, err)
		}
		b.StopTimer()
		must(b, dst.Close())
		b.StartTimer()
	}
	b.ReportMetric(2*benched*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

func fillMany(b *testing.B, s Store) {
	_, err := s.MakeDir(context.Background(), "alice", 0o755)
	must(b, err)
	for n := range benched {
		for _, line := range []string{"0123456789abcde\n", "abcde0123456789\n"} {
			key := backing.Key(fmt.Sprintf("alice/20260221T%06d-x.md", n))
			_, err := s.Put(context.Background(), key, strings.NewReader(strings.Repeat(line, 256)), backing.PutOptions{KeepVersion: true})
			must(b, err)
		}
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
