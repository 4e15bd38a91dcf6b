package postgres

import (
	"context"
	"strings"
	"sync"
	"testing"

	"ctxfs/backing/postgres/pgtest"
)

func TestHostsThatStartAtOnceMakeTheSchemaOnce(t *testing.T) {
	url := pgtest.Schema(t)
	var running sync.WaitGroup
	for range 6 {
		running.Go(func() {
			s, err := Open(context.Background(), url, Options{Timeout: patience})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

func TestWhatCannotBeOpenedSaysWhatToDo(t *testing.T) {
	ctx := context.Background()
	newer := pgtest.Schema(t)
	s := openStore(t, newer, Options{})
	_, err := s.pool.Exec(ctx, "INSERT INTO ctxfs_schema (version) VALUES (99)")
	must(t, err)
	must(t, s.Close())
	for _, c := range []struct {
		url  string
		o    Options
		want string
	}{
		{newer, Options{}, "version 99, and this ctxfs knows 1: use"},
		{pgtest.Schema(t), Options{ReadOnly: true}, "open it for writing once"},
		{pgtest.Shared(t).URL("search_path", "nowhere"), Options{}, "CREATE SCHEMA"},
		{"postgres:///x?host=/nowhere&password=secret", Options{}, "/nowhere"},
		{"postgres://u:secret@h:notaport/", Options{}, "port"},
	} {
		_, err := Open(ctx, c.url, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, not %q", c.url, err, c.want)
		}
	}
}

func TestAReadOnlyStoreReadsAndRefusesEveryWrite(t *testing.T) {
	ctx := context.Background()
	url := pgtest.Schema(t)
	s := closing(t, openStore(t, url, Options{}))
	mustPut(t, s, "a", "x")
	ro := closing(t, openStore(t, url, Options{ReadOnly: true}))
	if !ro.ReadOnly() || read(t, ro, "a") != "x" {
		t.Fatal("it cannot be read")
	}
	_, append := ro.Append(ctx, "a", []byte("y"))
	_, dir := ro.MakeDir(ctx, "d", 0o755)
	for _, err := range []error{append, dir, ro.Remove(ctx, "a", "")} {
		if err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("error %v", err)
		}
	}
}
