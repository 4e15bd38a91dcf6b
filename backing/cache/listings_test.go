package cache

import (
	"fmt"
	"sync"
	"testing"

	"ctxfs/backing"
)

func meta(key backing.Key, rev string) backing.Meta {
	return backing.Meta{Key: key, Revision: backing.Revision(rev)}
}

// filled has d with the members a, b and c.
func filled(t *testing.T) *Listings {
	t.Helper()
	l := NewListings(100)
	f := l.Fill("d")
	if !f.Add([]backing.Meta{meta("d/a", "1"), meta("d/b", "1"), meta("d/c", "1")}) {
		t.Fatal("it is too large")
	}
	f.Done()
	return l
}

func want(t *testing.T, l *Listings, key backing.Key, state State, rev string) Mark {
	t.Helper()
	m, mark, got := l.Look(key)
	if got != state || string(m.Revision) != rev {
		t.Fatalf("%s is in state %d with revision %q, not %d with %q", key, got, m.Revision, state, rev)
	}
	return mark
}

func TestAListingSaysWhatThereIsAndIsNot(t *testing.T) {
	l := filled(t)
	want(t, l, "d/b", Known, "1")
	want(t, l, "d/bb", Absent, "")
	want(t, l, "e/b", Unlisted, "")
	page, first, listed := l.Page("d", "a", 1)
	if !listed || len(first) > 0 || len(page) != 1 || page[0].Key != "d/b" {
		t.Fatalf("after a comes %v, %v", page, first)
	}
}

func TestWhatWasReadBeforeAMarkIsNotLearned(t *testing.T) {
	l := filled(t)
	l.Mark("d/b")
	mark := want(t, l, "d/b", Unknown, "")
	l.Mark("d/b") // while it is read
	old := meta("d/b", "2")
	l.Learn("d/b", mark, &old)
	mark = want(t, l, "d/b", Unknown, "")
	now := meta("d/b", "3")
	l.Learn("d/b", mark, &now)
	want(t, l, "d/b", Known, "3")
	l.Learn("d/b", mark, nil) // a slower one
	want(t, l, "d/b", Known, "3")

	l.Mark("d/new")
	l.Learn("d/new", want(t, l, "d/new", Unknown, ""), nil)
	want(t, l, "d/new", Absent, "")
}

func TestAListingThatWasReadWhileSomethingChangedDoubtsIt(t *testing.T) {
	l := NewListings(100)
	f := l.Fill("d")
	l.Mark("d/b")
	l.Mark("d/new")
	f.Add([]backing.Meta{meta("d/a", "1"), meta("d/b", "1")})
	f.Done()
	want(t, l, "d/a", Known, "1")
	want(t, l, "d/b", Unknown, "")
	want(t, l, "d/new", Unknown, "")
	if _, first, _ := l.Page("d", "", 10); len(first) != 2 {
		t.Fatalf("to be learned first are %v", first)
	}

	for what, change := range map[string]func(){"cleared": l.Clear, "marked": func() { l.Mark("e") }} {
		f = l.Fill("e")
		change()
		f.Add([]backing.Meta{meta("e/a", "1")})
		f.Done()
		if _, _, state := l.Look("e/a"); state != Unlisted {
			t.Errorf("after it was %s it is in state %d", what, state)
		}
	}
}

func TestTheEndOfAWriteIsKnown(t *testing.T) {
	l := filled(t)
	left := meta("d/b", "2")
	mark := l.Mark("d/b")
	want(t, l, "d/b", Unknown, "") // while it is written
	// Somebody reads meanwhile what was before.
	old := meta("d/b", "1")
	l.Learn("d/b", mark, &old)
	l.Settle("d/b", mark, &left)
	want(t, l, "d/b", Known, "2")

	one, two := l.Mark("d/b"), l.Mark("d/b")
	l.Settle("d/b", two, &left)
	l.Settle("d/b", one, &old) // which of them was the last nobody knows
	want(t, l, "d/b", Unknown, "")

	mark = l.Mark("d/b")
	l.Mark("d/b") // it was heard of another one
	l.Settle("d/b", mark, &left)
	want(t, l, "d/b", Unknown, "")

	mark = l.Mark("e/b")
	f := l.Fill("e") // which may see it, or not
	f.Add(nil)
	f.Done()
	l.Settle("e/b", mark, &left)
	want(t, l, "e/b", Unknown, "")
}

func TestADirectoryIsWantedAtTheThirdLook(t *testing.T) {
	l := NewListings(10)
	want(t, l, "d/a", Unlisted, "")
	want(t, l, "d/b", Unlisted, "")
	want(t, l, "d/c", Wanted, "")
	f := l.Fill("d")
	if l.Fill("d") != nil {
		t.Error("it is listed twice at once")
	}
	for i := 0; f.Add([]backing.Meta{meta(backing.Key(fmt.Sprint("d/", i)), "1")}); i++ {
		if i > 10 {
			t.Fatal("no directory is too large")
		}
	}
	f.Cancel(true)
	for range 10 {
		want(t, l, "d/a", Unlisted, "") // it is too large
	}
}

func TestAroundAKeyAreThoseThatFollowIt(t *testing.T) {
	l := NewListings(1000)
	f := l.Fill("d")
	var all []backing.Meta
	for i := range 100 {
		m := meta(backing.Key(fmt.Sprintf("d/%02d", i)), "1")
		m.Size, m.Dir = 10, i == 98
		all = append(all, m)
	}
	f.Add(all)
	f.Done()
	odd := func(m backing.Meta) bool { return m.Key[len(m.Key)-1]%2 == 1 || m.Key == "d/96" || m.Key == "d/98" }
	l.Mark("d/97")
	for _, c := range []struct {
		most int
		size int64
		want string
	}{{3, 1000, "[d/96 d/99 d/01]"}, {100, 45, "[d/96 d/99 d/01 d/03]"}, {100, 5, "[]"}} {
		keys := []backing.Key{}
		for _, m := range l.Around("d/96", c.most, c.size, odd) {
			keys = append(keys, m.Key)
		}
		if fmt.Sprint(keys) != c.want {
			t.Errorf("at most %d, %d bytes: %v, not %s", c.most, c.size, keys, c.want)
		}
	}
	if got := l.Around("e/1", 3, 100, odd); len(got) > 0 {
		t.Errorf("in a directory that is not here are %v", got)
	}
}

func TestListingsAreBounded(t *testing.T) {
	const most = 1000
	l := NewListings(most)
	for d := range 100 {
		dir := backing.Key(fmt.Sprint(d))
		f := l.Fill(dir)
		for i := range 30 {
			f.Add([]backing.Meta{meta(dir.Join(fmt.Sprint(100+i)), "1")})
		}
		f.Done()
		for i := range 3000 { // what other hosts do
			l.Mark(dir.Join(fmt.Sprint("other", i)))
		}
		sum := 0
		for _, d := range l.dirs {
			sum += len(d.members)
		}
		if sum != l.members || sum > most || len(l.dirs) != l.recent.Len() {
			t.Fatalf("%d members, %d are counted", sum, l.members)
		}
	}
}

func TestListingsAreUsedByMany(t *testing.T) {
	l := NewListings(50)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 2000 {
				dir := backing.Key(fmt.Sprint(i % 3))
				key := dir.Join(fmt.Sprint(i % 7))
				m := meta(key, "1")
				switch (i + n) % 6 {
				case 0:
					if f := l.Fill(dir); f != nil {
						f.Add([]backing.Meta{m})
						f.Done()
					}
				case 1:
					l.Settle(key, l.Mark(key), &m)
				case 2:
					_, mark, _ := l.Look(key)
					l.Learn(key, mark, &m)
				case 3:
					l.Page(dir, "", 5)
					l.Around(key, 5, 100, func(backing.Meta) bool { return true })
				case 4:
					l.Mark(dir)
				case 5:
					if i%100 == 0 {
						l.Clear()
					}
				}
			}
		})
	}
	all.Wait()
	for _, d := range l.dirs {
		unknown := 0
		for _, m := range d.members {
			if !m.known {
				unknown++
			}
		}
		if unknown != d.unknown {
			t.Errorf("%d members of %s are unknown, %d are counted", unknown, d.dir, d.unknown)
		}
	}
}
