package transfer

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
)

func TestACopyIsWhatItsSourceIs(t *testing.T) {
	for from, source := range kinds {
		for to, destination := range kinds {
			t.Run(from+" to "+to, func(t *testing.T) {
				src, dst := source(t), destination(t)
				objects, versions := fill(t, src)
				stats, err := copyTo(t, src, dst, Options{})
				if err != nil || stats.Objects != objects || stats.Versions != versions || stats.There+stats.Again != 0 {
					t.Fatalf("%+v, %v", stats, err)
				}
				wantSame(t, src, dst)
				again, err := copyTo(t, src, dst, Options{Workers: 1})
				if err != nil || again.Objects+again.Versions+again.Dirs != 0 || again.There != objects+versions {
					t.Errorf("a copy that is whole is copied again: %+v, %v", again, err)
				}
				ok(t, Finish(t.Context(), dst))
				if mark, err := ReadMark(t.Context(), dst); mark != nil || err != nil {
					t.Errorf("a finished copy is marked %+v, %v", mark, err)
				}
				if _, err := Begin(t.Context(), src, dst, "src", all); !errors.As(err, new(*OccupiedError)) {
					t.Errorf("a finished copy is copied over: %v", err)
				}
			})
		}
	}
}

// stopAfter is a Progress that ends a copy when it has looked at n objects.
func stopAfter(n int, stop func()) func(Progress) {
	return func(at Progress) {
		if at.Objects > n {
			stop()
		}
	}
}

func TestAnInterruptedCopyGoesOnWhereItWas(t *testing.T) {
	for name, destination := range kinds {
		t.Run("into a "+name, func(t *testing.T) {
			src, dst := kinds["directory"](t), destination(t)
			objects, versions := fill(t, src)
			there := 0
			for n := range objects + versions {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := Begin(ctx, src, dst, "src", all)
				ok(t, err)
				stats, err := Run(ctx, src, dst, Options{Part: all, Owners: true, Workers: 1, Progress: stopAfter(n, cancel)})
				cancel()
				if !errors.Is(err, context.Canceled) || stats.There < there {
					t.Fatalf("after %d: %+v, %v", n, stats, err)
				}
				there = stats.There
			}
			if there == 0 {
				t.Fatal("nothing of an interrupted copy was of use")
			}
			stats, err := copyTo(t, src, dst, Options{})
			if err != nil || stats.There < there || stats.There+stats.Objects+stats.Versions != objects+versions {
				t.Errorf("%d were there, and now %+v, %v", there, stats, err)
			}
			wantSame(t, src, dst)
		})
	}
}

func TestWhatChangesInTheSourceIsCopiedAgain(t *testing.T) {
	src, dst := kinds["database"](t), kinds["directory"](t)
	fill(t, src)
	var once sync.Once
	stats, err := copyTo(t, src, dst, Options{Progress: func(at Progress) {
		if at.Stage == Comparing {
			once.Do(func() {
				put(t, src, "alice/e.md", "fourth", backing.PutOptions{KeepVersion: true})
				put(t, src, "alice/new.md", "new", backing.PutOptions{})
			})
		}
	}})
	if err != nil || stats.Again == 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	wantSame(t, src, dst)

	n := 0
	_, err = copyTo(t, src, dst, Options{Progress: func(at Progress) {
		n++
		put(t, src, "alice/e.md", strings.Repeat("x", n), backing.PutOptions{})
	}})
	if !errors.Is(err, ErrRestless) {
		t.Errorf("a source that never rests: %v", err)
	}
}

func TestWhatTheSourceDoesNotHaveAnyMoreStaysUnlessSaid(t *testing.T) {
	for name, destination := range kinds {
		t.Run("in a "+name, func(t *testing.T) {
			src, dst := kinds["directory"](t), destination(t)
			fill(t, src)
			_, err := copyTo(t, src, dst, Options{})
			ok(t, err)
			versions, err := src.Versions(t.Context(), "alice/e.md")
			ok(t, err)
			ok(t, errors.Join(src.Discard(t.Context(), []backing.Removal{{Key: "alice/e.md", Versions: versions[:1]}})...))
			ok(t, src.Remove(t.Context(), "alice/s1/deep/x", ""))
			ok(t, src.RemoveDir(t.Context(), "alice/s1/deep"))
			put(t, src, "alice/s1/deep", "a file now", backing.PutOptions{})
			before := contents(t, dst)
			_, err = copyTo(t, src, dst, Options{})
			var extra *ExtraError
			if !errors.As(err, &extra) || extra.Count != 2 {
				t.Errorf("it says %v", err)
			}
			for key, was := range contents(t, dst) {
				if !strings.Contains(key, "alice/s1") && before[key] != was {
					t.Errorf("%s is %q, it was %q", key, was, before[key])
				}
				delete(before, key)
			}
			if len(before) > 0 {
				t.Errorf("removed without being asked for: %q", before)
			}
			stats, err := copyTo(t, src, dst, Options{Delete: true})
			if err != nil || stats.Removed != 3 {
				t.Errorf("%+v, %v", stats, err)
			}
			wantSame(t, src, dst)
		})
	}
}

func TestWhatSomebodyElseWritesIntoTheDestinationIsNotLost(t *testing.T) {
	for name, destination := range kinds {
		t.Run("a "+name, func(t *testing.T) {
			src, dst := kinds["directory"](t), destination(t)
			fill(t, src)
			var once sync.Once
			_, err := copyTo(t, src, dst, Options{Workers: 1, Progress: func(at Progress) {
				if at.Key == "vars/global/big" {
					once.Do(func() { put(t, dst, at.Key, "theirs", backing.PutOptions{}) })
				}
			}})
			if !errors.Is(err, backing.ErrExists) {
				t.Fatalf("%v", err)
			}
			c, err := dst.Open(t.Context(), "vars/global/big", "")
			ok(t, err)
			text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
			if err = errors.Join(err, c.Close()); err != nil || string(text) != "theirs" {
				t.Errorf("%.20q, %v", text, err)
			}
		})
	}
}

func TestOtherBytesOfTheSameSizeAndTimeAreFound(t *testing.T) {
	src, dst := kinds["directory"](t), kinds["database"](t)
	fill(t, src)
	if _, err := copyTo(t, src, spoiling{dst}, Options{}); !errors.Is(err, ErrRestless) {
		t.Errorf("a destination that keeps other bytes: %v", err)
	}
	stats, err := copyTo(t, src, dst, Options{})
	if err != nil || stats.Objects != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	wantSame(t, src, dst)
}

func TestBytesThatADatabaseDoesNotHaveAsTheyWerePutAreFound(t *testing.T) {
	url := pgtest.Schema(t)
	src, dst := kinds["directory"](t), openDatabase(t, url)
	fill(t, src)
	_, err := copyTo(t, src, dst, Options{})
	ok(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	ok(t, err)
	tag, err := conn.Exec(t.Context(), "UPDATE ctxfs_chunks SET data = 'THIRD' WHERE data = 'third'")
	if err = errors.Join(err, conn.Close(t.Context())); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%v, %v", tag, err)
	}
	stats, err := copyTo(t, src, dst, Options{})
	if err != nil || stats.Objects != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	wantSame(t, src, dst)
}

func TestADestinationWithAnythingInItIsRefused(t *testing.T) {
	full := map[string]func(s backing.Store){
		"an entry":       func(s backing.Store) { dirs(t, s, "alice"); put(t, s, "alice/x.md", "x", backing.PutOptions{}) },
		"somebody's own": func(s backing.Store) { put(t, s, "left", "x", backing.PutOptions{}) },
		"a directory":    func(s backing.Store) { dirs(t, s, "left") },
		"an archive":     func(s backing.Store) { put(t, s, backing.Own+"/archives/x", "x", backing.PutOptions{}) },
		"a version": func(s backing.Store) {
			ok(t, s.RestoreVersion(t.Context(), "alice/x.md", backing.Version{N: 1}, strings.NewReader("x")))
		},
		"another copy": func(s backing.Store) { put(t, s, markKey, `{"source":"other"}`, backing.PutOptions{}) },
	}
	for name, occupy := range full {
		for kind, open := range kinds {
			src, dst := kinds["directory"](t), open(t)
			occupy(dst)
			if _, err := Begin(t.Context(), src, dst, "src", all); !errors.As(err, new(*OccupiedError)) {
				t.Errorf("%s in a %s: %v", name, kind, err)
			}
			if mark, err := ReadMark(t.Context(), dst); err != nil || mark != nil && mark.Source != "other" {
				t.Errorf("%s in a %s: it is marked all the same: %+v, %v", name, kind, mark, err)
			}
		}
	}
}

func TestAnEmptyStoreThatWasMountedIsEmpty(t *testing.T) {
	for _, open := range kinds {
		src, dst := kinds["directory"](t), open(t)
		dirs(t, dst, "vars", "vars/global", "lost+found", backing.Own+"/vars")
		put(t, dst, backing.Own+"/log/refusals", "x", backing.PutOptions{})
		_, err := Begin(t.Context(), src, dst, "src", all)
		ok(t, err)
	}
}

func TestAnUnfinishedCopyIsNoSource(t *testing.T) {
	src, dst, third := kinds["directory"](t), kinds["directory"](t), kinds["directory"](t)
	_, err := Begin(t.Context(), src, dst, "src", all)
	ok(t, err)
	if _, err := Begin(t.Context(), dst, third, "dst", all); !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("%v", err)
	}
	if _, err := Begin(t.Context(), src, dst, "other", all); !errors.As(err, new(*OccupiedError)) {
		t.Errorf("as the copy of another store it is gone on with: %v", err)
	}
	if resumed, err := Begin(t.Context(), src, dst, "src", all); !resumed || err != nil {
		t.Errorf("%v, %v", resumed, err)
	}
}

func TestAStoreIsNotCopiedIntoItself(t *testing.T) {
	for _, open := range kinds {
		s := open(t)
		if _, err := Begin(t.Context(), s, s, "s", all); !errors.Is(err, ErrSame) {
			t.Errorf("%v", err)
		}
		if mark, err := ReadMark(t.Context(), s); mark != nil || err != nil {
			t.Errorf("it is left marked: %+v, %v", mark, err)
		}
	}
}
