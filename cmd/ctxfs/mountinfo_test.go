package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestMountinfoIsReadWithEscapesAndOptionalFields(t *testing.T) {
	const text = `22 28 0:20 / /proc rw,nosuid shared:12 master:1 - proc proc rw
36 28 0:98 / /home/a\040b/context rw,nosuid,nodev - fuse.ctxfs /home/a\040b/the\134store rw,user_id=0,group_id=0
37 28 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
`
	got, err := parseMountinfo(strings.NewReader(text))
	want := []mount{
		{"/proc", "proc", "proc", 20, "0:20", "/"},
		{"/home/a b/context", fstype, `/home/a b/the\store`, 98, "0:98", "/"},
		{"/", "ext4", "/dev/sda1", 1, "8:1", "/"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"36 28 0:98 / /x rw", "36 28 x / /x rw - a b c"} {
		if got, err := parseMountinfo(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

func TestTheTopmostMountCounts(t *testing.T) {
	all := []mount{{Point: "/a", Source: "1"}, {Point: "/a", Source: "2"}, {Point: "/a/b", Source: "3"}}
	if m, ok := mountAt(all, "/a"); !ok || m.Source != "2" {
		t.Errorf("at /a: %+v, %v", m, ok)
	}
	if m, ok := mountAt(all, "/a/c"); ok {
		t.Errorf("at /a/c: %+v", m)
	}
}

func TestBindMountsHideNothing(t *testing.T) {
	all := []mount{{Point: "/", Dev: "8:1", Root: "/"}, {Point: "/bind", Dev: "8:1", Root: "/home/store"},
		{Point: "/deep", Dev: "8:1", Root: "/home/store/alice"}, {Point: "/data", Dev: "8:2", Root: "/"}, {Point: "/home/data", Dev: "8:2", Root: "/x"}}
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/bind/inner", "/home/store", true}, {"/home/store/inner", "/bind", true}, {"/deep", "/home/store", true},
		{"/deep/x", "/bind", true}, {"/home/storey", "/bind", false}, {"/data/home/store", "/home/store", false},
		{"/home/data/y", "/data/x", true}, {"/home/data", "/home", true}, {"/data/y", "/home/data", false}, {"/bind", "/deep", false},
	} {
		if got := insideAnywhere(all, c.path, c.dir); got != c.want {
			t.Errorf("%s inside %s: %v", c.path, c.dir, got)
		}
	}
}

func TestInside(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/", "/a", false}, {"/a", "/", true},
	} {
		if got := inside(c.path, c.dir); got != c.want {
			t.Errorf("%s inside %s: %v", c.path, c.dir, got)
		}
	}
}
