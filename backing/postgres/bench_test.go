package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
)

// durable starts a server whose commits wait for the disk.
func durable(b *testing.B) *Store {
	c, err := pgtest.Start(pgtest.Options{Durable: true})
	must(b, err)
	b.Cleanup(func() { must(b, c.Stop()) })
	return closing(b, openStore(b, c.URL(), Options{}))
}

var entry = strings.Repeat("0123456789abcde\n", 256) // 4 KiB

// BenchmarkInsert is the bare statement that BenchmarkCreate is measured by.
func BenchmarkInsert(b *testing.B) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, durable(b).pool.Config().ConnString())
	must(b, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE plain (name bytea PRIMARY KEY, data bytea)")
	must(b, err)
	for i := 0; b.Loop(); i++ {
		_, err := conn.Exec(ctx, "INSERT INTO plain VALUES ($1, $2)", []byte(fmt.Sprint(i)), []byte(entry))
		must(b, err)
	}
}

func BenchmarkCreate(b *testing.B) {
	s := durable(b)
	for i := 0; b.Loop(); i++ {
		_, err := s.Put(context.Background(), backing.Key(fmt.Sprint(i)), strings.NewReader(entry), backing.PutOptions{If: backing.Absent, Op: "op"})
		must(b, err)
	}
}

func BenchmarkOverwrite(b *testing.B) {
	s := durable(b)
	m := mustPut(b, s, "a", entry)
	for b.Loop() {
		var err error
		m, err = s.Put(context.Background(), "a", strings.NewReader(entry), backing.PutOptions{If: m.Revision, KeepVersion: true})
		must(b, err)
	}
}

func BenchmarkOpen(b *testing.B) {
	s := durable(b)
	mustPut(b, s, "a", entry)
	for b.Loop() {
		c, err := s.Open(context.Background(), "a", "")
		must(b, err)
		must(b, c.Close())
	}
}

// members fills a directory with 2,000.
func members(b *testing.B) *Store {
	s := durable(b)
	_, err := s.MakeDir(context.Background(), "d", 0o755)
	must(b, err)
	for i := range 2000 {
		mustPut(b, s, backing.Key(fmt.Sprint("d/", i)), entry)
	}
	return s
}

func BenchmarkList2000(b *testing.B) {
	s := members(b)
	for b.Loop() {
		page, err := s.List(context.Background(), "d", "", 5000)
		must(b, err)
		if len(page) != 2000 {
			b.Fatal(len(page))
		}
	}
}
