// Fill fills an empty store in a PostgreSQL database with entries, many at
// once, to try how ctxfs and the database bear a million of them.
//
//	CREATE DATABASE big; then
//	go run ./scripts/fill [-entries 1000000] [-seed 1] postgres://…/big
//
// It copies rows into the tables that ctxfs makes, as ctxfs would have written
// them one after the other; `ctxfs check --store postgres://…/big` finds
// nothing. Of each directory all is there or nothing. What it leaves out: old
// versions, and the feed of changes, so that the store must not be mounted
// meanwhile. The same seed makes the same entries. See docs/scale.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing/postgres"
)

func main() {
	n := flag.Int("entries", 1_000_000, "how many")
	seed := flag.Uint64("seed", 1, "of what they say")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: fill [-entries N] [-seed N] postgres://…")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	if err := fill(ctx, flag.Arg(0), *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
	fmt.Printf("%d entries in %s\n", *n, time.Since(began).Round(time.Second))
}

func fill(ctx context.Context, url string, n int, seed uint64) error {
	// Opening it makes the tables.
	store, err := postgres.Open(ctx, url, postgres.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	page, err := store.List(ctx, "", "", 1)
	if err == nil && len(page) > 0 {
		err = fmt.Errorf("there is something in the store: %s", page[0].Key)
	}
	if closed := store.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	w := &writer{conn: conn, text: newText(seed)}
	next := time.Now()
	for w.entries < n {
		if err := w.directory(ctx, n-w.entries); err != nil {
			return err
		}
		if time.Now().After(next) {
			fmt.Fprintf(os.Stderr, "%d of %d entries in %d directories\n", w.entries, n, w.dirs)
			next = time.Now().Add(5 * time.Second)
		}
	}
	// What autovacuum would come to do.
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) ctxfs_objects, ctxfs_chunks")
	return err
}
