package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"ctxfs/backing"
)

var listTests = []test{
	{"ListIsInTheOrderOfBytes", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		want := []string{"B", "a", "a.b", "a0", "ab", "b", "\xc3\xbc", "\xff"}
		for _, i := range []int{3, 0, 7, 5, 1, 6, 2, 4} {
			put(t, s, backing.Key("d/"+want[i]), "x", backing.PutOptions{})
		}
		if got := names(t, s, "d", 100); !slices.Equal(got, want) {
			t.Fatalf("names %q", got)
		}
	}},
	{"PagesOfAnySizeShowEachNameOnce", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		var want []string
		for i := range 25 {
			name := fmt.Sprintf("%03d", i)
			want = append(want, name)
			put(t, s, backing.Key("d/"+name), name, backing.PutOptions{})
		}
		for _, limit := range []int{1, 2, 5, 7, 24, 25, 26, 1000} {
			if got := names(t, s, "d", limit); !slices.Equal(got, want) {
				t.Fatalf("pages of %d: %q", limit, got)
			}
		}
	}},
	{"AfterNeedNotExist", func(t *testing.T, s backing.Store) {
		for _, name := range []backing.Key{"a", "c", "e"} {
			put(t, s, name, "x", backing.PutOptions{})
		}
		page, err := s.List(context.Background(), "", "b", 1)
		ok(t, err)
		if len(page) != 1 || page[0].Key != "c" {
			t.Fatalf("page %+v", page)
		}
		page, err = s.List(context.Background(), "", "e", 1)
		ok(t, err)
		if len(page) != 0 {
			t.Fatalf("page %+v", page)
		}
	}},
	{"AListingShowsWhatWasJustWritten", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		for i := range 30 {
			put(t, s, backing.Key(fmt.Sprintf("d/%03d", i)), "x", backing.PutOptions{})
			if got := names(t, s, "d", 3); len(got) != i+1 {
				t.Fatalf("%d objects, the listing shows %q", i+1, got)
			}
		}
		for i := range 30 {
			ok(t, s.Remove(context.Background(), backing.Key(fmt.Sprintf("d/%03d", i)), ""))
			if got := names(t, s, "d", 3); len(got) != 29-i {
				t.Fatalf("%d objects, the listing shows %q", 29-i, got)
			}
		}
	}},
	{"ListOfWhatIsNoDirectoryIsRefused", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "x", backing.PutOptions{})
		_, err := s.List(context.Background(), "a", "", 10)
		fails(t, err, backing.ErrNotDir)
		_, err = s.List(context.Background(), "no", "", 10)
		fails(t, err, backing.ErrNotFound)
	}},
	{"ListNeverShowsOwn", func(t *testing.T, s backing.Store) {
		put(t, s, "a", "1", backing.PutOptions{})
		put(t, s, "a", "2", backing.PutOptions{KeepVersion: true})
		makeDir(t, s, "d")
		if got := names(t, s, "", 1); !slices.Equal(got, []string{"a", "d"}) {
			t.Fatalf("names %q", got)
		}
	}},
	{"NamesThatStayAreListedWhileOthersComeAndGo", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		var want []string
		for i := range 50 {
			name := fmt.Sprintf("stay%03d", i)
			want = append(want, name)
			put(t, s, backing.Key("d/"+name), "x", backing.PutOptions{})
		}
		stop := make(chan struct{})
		var churn sync.WaitGroup
		churn.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := backing.Key(fmt.Sprintf("d/go%d", i%5))
				if tryPut(s, key, "x", backing.PutOptions{}) != nil || s.Remove(context.Background(), key, "") != nil {
					t.Error("the churn failed")
					return
				}
			}
		})
		for range 50 {
			got := slices.DeleteFunc(names(t, s, "d", 7), func(n string) bool { return n[0] != 's' })
			if !slices.Equal(got, want) {
				t.Errorf("names %q", got)
				break
			}
		}
		close(stop)
		churn.Wait()
	}},
}

// names lists dir in pages of limit.
func names(t testing.TB, s backing.Store, dir backing.Key, limit int) []string {
	t.Helper()
	var list []string
	after := ""
	for {
		page, err := s.List(context.Background(), dir, after, limit)
		ok(t, err)
		if len(page) > limit {
			t.Fatalf("a page of %d, %d is the limit", len(page), limit)
		}
		for _, m := range page {
			after = m.Key.Name()
			list = append(list, after)
		}
		if len(page) < limit {
			return list
		}
	}
}

var dirTests = []test{
	{"MakeDirMakesOne", func(t *testing.T, s backing.Store) {
		m, err := s.MakeDir(context.Background(), "d", 0o750)
		ok(t, err)
		if !m.Dir || m.Key != "d" || m.Mode != 0o750 {
			t.Fatalf("meta %+v", m)
		}
		makeDir(t, s, "d/e")
		put(t, s, "d/e/a", "x", backing.PutOptions{})
	}},
	{"MakeDirOfWhatIsThereIsRefused", func(t *testing.T, s backing.Store) {
		makeDir(t, s, "d")
		put(t, s, "a", "x", backing.PutOptions{})
		for _, key := range []backing.Key{"d", "a"} {
			_, err := s.MakeDir(context.Background(), key, 0o755)
			fails(t, err, backing.ErrExists)
		}
		_, err := s.MakeDir(context.Background(), "no/d", 0o755)
		fails(t, err, backing.ErrNotFound)
	}},
	{"RemoveDirTakesEmptyOnesOnly", func(t *testing.T, s backing.Store) {
		ctx := context.Background()
		makeDir(t, s, "d")
		put(t, s, "d/a", "1", backing.PutOptions{})
		put(t, s, "d/a", "2", backing.PutOptions{KeepVersion: true})
		fails(t, s.RemoveDir(ctx, "d"), backing.ErrNotEmpty)
		fails(t, s.Remove(ctx, "d", ""), backing.ErrIsDir)
		fails(t, s.RemoveDir(ctx, "d/a"), backing.ErrNotDir)
		ok(t, s.Remove(ctx, "d/a", ""))
		ok(t, s.RemoveDir(ctx, "d"))
		fails(t, s.RemoveDir(ctx, "d"), backing.ErrNotFound)
	}},
}
