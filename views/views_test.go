package views

import (
	"context"
	"errors"

	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/backing"
	"ctxfs/index"
	"ctxfs/room"
)

var ctx = context.Background()

// table is a source: kind, value, link to path.
type table map[index.Kind]map[string]map[string]string

func (t table) Values(_ context.Context, k index.Kind, after string, limit int) ([]string, error) {
	var all []string
	for v := range t[k] {
		all = append(all, v)
	}
	return page(all, after, limit), nil
}

func page(all []string, after string, limit int) []string {
	slices.Sort(all)
	all = slices.DeleteFunc(all, func(s string) bool { return s <= after })
	return all[:min(len(all), limit)]
}

func (t table) HasValue(_ context.Context, k index.Kind, v string) (bool, error) {
	return t[k][v] != nil, nil
}

func (t table) Members(_ context.Context, k index.Kind, v, after string, limit int) ([]index.Member, error) {
	var links []string
	for l := range t[k][v] {
		links = append(links, l)
	}
	var all []index.Member
	for _, l := range page(links, after, limit) {
		all = append(all, index.Member{Link: l, Path: t[k][v][l], Time: time.Unix(1, 0)})
	}
	return all, nil
}

func (t table) Member(_ context.Context, k index.Kind, v, link string) (index.Member, bool, error) {
	p, ok := t[k][v][link]
	return index.Member{Link: link, Path: p}, ok, nil
}

var source = table{
	index.ByTag:        {"a": {"alice__x.md": "alice/x.md", "bob__s__y.md": "bob/s/y.md"}, "b%2Fc": {"alice__x.md": "alice/x.md"}},
	index.BySuperseded: {"no": {}, "yes": {"alice__x.md": "alice/x.md"}},
}

func TestTreeIsWhatTheSourceKnows(t *testing.T) {
	v := New(source, time.Unix(2, 0))
	var walked []string
	var walk func(dir string)
	walk = func(dir string) {
		for after := ""; ; {
			infos, err := v.List(ctx, dir, after, 1) // one at a time
			if err != nil {
				t.Fatal(dir, err)
			}
			if len(infos) == 0 {
				return
			}
			info := infos[0]
			after = info.Name
			path := strings.TrimPrefix(dir+"/"+info.Name, "/")
			stat, err := v.Stat(ctx, path)
			if err != nil || stat.Kind != info.Kind || !info.Volatile || !stat.Volatile {
				t.Errorf("%s: %+v %v", path, stat, err)
			}
			if info.Kind == room.Dir {
				walk(path)
				continue
			}
			target, err := v.Readlink(ctx, path)
			if err != nil || int64(len(target)) != info.Size {
				t.Errorf("%s: %s, size %d, %v", path, target, info.Size, err)
			}
			walked = append(walked, path+" -> "+target)
		}
	}
	walk("")
	want := []string{
		"superseded/yes/alice__x.md -> ../../../../alice/x.md",
		"tag/a/alice__x.md -> ../../../../alice/x.md",
		"tag/a/bob__s__y.md -> ../../../../bob/s/y.md",
		"tag/b%2Fc/alice__x.md -> ../../../../alice/x.md",
	}
	if !slices.Equal(walked, want) {
		t.Errorf("%q", walked)
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	v := New(source, time.Unix(2, 0))
	for _, path := range []string{"none", "tag/none", "tag/a/none.md", "none/a/alice__x.md", "tag/a/alice__x.md/more"} {
		if _, err := v.Stat(ctx, path); !errors.Is(err, backing.ErrNotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := v.Readlink(ctx, "tag/a"); !errors.Is(err, backing.ErrNotRegular) {
		t.Error(err)
	}
	if _, err := v.List(ctx, "tag/a/alice__x.md", "", 10); !errors.Is(err, backing.ErrNotDir) {
		t.Error(err)
	}
	if _, err := v.Read(ctx, "tag/a/alice__x.md", ""); !errors.Is(err, backing.ErrNotRegular) {
		t.Error(err)
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	v := New(source, time.Unix(2, 0))
	var c room.Caller
	for i, err := range []error{
		second(v.Write(ctx, c, "tag/a/x", room.Create{New: true})),
		last(v.MakeDir(ctx, c, "tag/new", 0o755)), v.RemoveDir(ctx, c, "tag/a"), v.Remove(ctx, c, "tag/a/alice__x.md"),
		v.Rename(ctx, c, "tag/a", "tag/b", 0), last(v.SetAttr(ctx, c, "tag/a", backing.AttrChange{})), last(v.Symlink(ctx, c, "x", "tag/a/y")),
	} {
		if !errors.Is(err, syscall.EROFS) {
			t.Error(i, err)
		}
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := v.Watch(stopped, func(string, bool) { t.Error("told") }); err != nil {
		t.Error(err)
	}
}

func last[T any](_ T, err error) error           { return err }
func second[T, U any](_ T, _ U, err error) error { return err }
