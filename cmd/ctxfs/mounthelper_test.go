package main

import (
	"slices"
	"strings"
	"testing"
)

func TestHelperTakesOptionsOfFstab(t *testing.T) {
	for _, c := range []struct{ options, home, want string }{
		{"", "/h", "--store=/s -- /m"},
		{"rw,nosuid,nodev,relatime,_netdev,nofail,user=u,x-systemd.requires=a.service,X-mine", "/h", "--store=/s -- /m"},
		{"allow_other,agent=x,vars_memory=64", "/h", "--store=/s --allow-other --agent=x --vars-memory=64 -- /m"},
		{"ro,noexec,strict", "/h", "--store=/s --strict --options=ro,noexec -- /m"},
		{"", "", "--store=/s --log=/var/log/ctxfs/m.log -- /m"},
		{"log=/l", "", "--store=/s --log=/l -- /m"},
	} {
		t.Setenv("HOME", c.home)
		argv, err := helperArgs(newMount().Flags(), "/s", "/m", []string{c.options})
		if got := strings.Join(argv, " "); err != nil || got != c.want {
			t.Errorf("%q becomes %q and %v, want %q", c.options, got, err, c.want)
		}
	}
	for _, bad := range []string{"agnet=x", "foreground", "ready_fd=3", "store=/x", "agent", "remount"} {
		if argv, err := helperArgs(newMount().Flags(), "/s", "/m", []string{bad}); err == nil {
			t.Errorf("%q becomes %q", bad, argv)
		}
	}
}

func TestHelperIsKnownByItsName(t *testing.T) {
	for _, c := range []struct{ argv, want string }{
		{"/sbin/mount.fuse.ctxfs /s /m -o ro", "mount-helper /s /m -o ro"},
		{"ctxfs /s /m -o ro", "mount-helper /s /m -o ro"},
		{"ctxfs mount /m", "mount /m"},
		{"ctxfs ./x", "./x"},
		{"ctxfs", ""},
	} {
		if got := asHelper(strings.Fields(c.argv)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q means %q, want %q", c.argv, got, c.want)
		}
	}
}
