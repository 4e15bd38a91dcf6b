package index

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"ctxfs/backing/localdir"
	"ctxfs/entries"
)

func TestMeasure(t *testing.T) {
	dir := os.Getenv("MEASURE")
	if dir == "" {
		t.Skip()
	}
	store, err := localdir.Open(dir, localdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := entries.New(store, entries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	x := Open(dir+"/.ctxfs/index.sqlite", e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		s := x.Status(context.Background())
		if !s.Building {
			fmt.Println("built", s, time.Since(begin))
			break
		}
		fmt.Println(time.Since(begin), s)
		time.Sleep(time.Second)
	}
	for _, q := range []Query{{Words: "invoices"}, {Words: "rare00042"}, {Words: "stale statistics"}, {Words: "inv*"}, {Words: `"nested loop"`}, {Words: "hash join", Agent: "agent-001"}, {Regex: "rare0004[0-9]"}, {Regex: "evictio.*zzz"}, {Regex: "zzznotfound"}, {Regex: "rare0[0-9]+ budget"}, {Type: "finding"}, {Regex: "budget stay.*retry"}} {
		for range 2 {
			b := time.Now()
			h, err := x.Search(context.Background(), q)
			fmt.Println(q.Words, q.Regex, len(h), err, time.Since(b))
		}
	}
	x.Close()
	e.Close()
	store.Close()
}
