package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helperPrefix begins the names by which mount(8) calls its helpers: ours is a
// link /sbin/mount.fuse.ctxfs to ctxfs.
const helperPrefix = "mount."

// asHelper turns the command line of a mount helper, of mount(8) or, where
// there is no such link, of mount.fuse(8), into one of ours. The latter runs
// `ctxfs STORE MOUNTPOINT -o OPTIONS`; no command has a slash in its name.
func asHelper(argv []string) []string {
	bare := len(argv) > 2 && strings.Contains(argv[1], "/") && !strings.HasPrefix(argv[2], "-")
	if bare || strings.HasPrefix(filepath.Base(argv[0]), helperPrefix) {
		return append([]string{"mount-helper"}, argv[1:]...)
	}
	return argv[1:]
}

// newMountHelper is the hidden command that mount(8) runs for
// `mount -t fuse.ctxfs` and lines of /etc/fstab; docs/mounting.md shows both.
func newMountHelper() *cobra.Command {
	var options []string
	var fake, verbose bool
	cmd := &cobra.Command{
		Use:    "mount-helper [-fnsv] [-t fuse.ctxfs] [-o OPTIONS] STORE MOUNTPOINT",
		Hidden: true,
		Args:   args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			mount := newMount()
			argv, err := helperArgs(mount.Flags(), a[0], a[1], options)
			if err != nil || fake {
				return err
			}
			mount.SetArgs(argv)
			mount.SetErr(cmd.ErrOrStderr())
			mount.SetOut(io.Discard) // mount(8) says nothing when all is well
			if verbose {
				mount.SetOut(cmd.OutOrStdout())
			}
			mount.SilenceErrors, mount.SilenceUsage = true, true
			return mount.ExecuteContext(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&options, "options", "o", nil, "")
	flags.BoolVarP(&fake, "fake", "f", false, "")
	flags.BoolVarP(&verbose, "verbose", "v", false, "")
	// There is no mtab any more, the type is ours, and what is not known is
	// refused, for an option that is misspelt would be missed.
	flags.BoolP("no-mtab", "n", false, "")
	flags.BoolP("sloppy", "s", false, "")
	flags.StringP("types", "t", "", "")
	return cmd
}

// helperArgs is the command line of mount for what mount(8) says.
func helperArgs(flags *pflag.FlagSet, store, mountpoint string, options []string) ([]string, error) {
	argv := []string{"--store=" + store}
	var kernel []string
	logged := os.Getenv("HOME") != "" // where the log has its place then
	for option := range strings.SplitSeq(strings.Join(options, ","), ",") {
		name, value, hasValue := strings.Cut(option, "=")
		flag := flags.Lookup(strings.ReplaceAll(name, "_", "-"))
		switch {
		case kernelOptions[name] && !hasValue:
			kernel = append(kernel, name)
		case others(name):
		case name == "remount":
			return nil, errors.New("a ctxfs mount cannot be remounted; umount it, and mount it again")
		case flag == nil || flag.Hidden || notOptions[flag.Name]:
			return nil, usageError{fmt.Errorf("there is no mount option %q; besides those of mount(8) there are the flags of `ctxfs mount`, as in allow_other,agent=alice", name)}
		case !hasValue && flag.NoOptDefVal == "":
			return nil, usageError{fmt.Errorf("the mount option %q needs a value: %s=VALUE", name, name)}
		case !hasValue:
			argv = append(argv, "--"+flag.Name)
		default:
			argv = append(argv, "--"+flag.Name+"="+value)
			logged = logged || flag.Name == "log"
		}
	}
	if len(kernel) > 0 {
		argv = append(argv, "--options="+strings.Join(kernel, ","))
	}
	if !logged {
		path, err := systemLog(mountpoint)
		if err != nil {
			return nil, err
		}
		argv = append(argv, "--log="+path)
	}
	return append(argv, "--", mountpoint), nil
}

// systemLog is the log of a mount that is made at boot, when nobody has a home
// directory.
func systemLog(mountpoint string) (string, error) {
	point, err := absolute(mountpoint)
	if err != nil {
		return "", err
	}
	return logFilePath("", point, func(name string) string {
		return map[string]string{"XDG_STATE_HOME": "/var/log"}[name]
	})
}

// kernelOptions are those of mount(8) that change something here. The others
// are defaults (rw, nosuid, nodev), or nothing in a ctxfs mount: access times
// are the store's, every close is synchronous, and there are neither devices
// nor set-user-id programs.
var kernelOptions = map[string]bool{"ro": true, "noexec": true}

const ignoredOptions = `defaults rw suid nosuid dev nodev exec sync async dirsync default_permissions
	atime noatime diratime nodiratime relatime norelatime strictatime nostrictatime lazytime nolazytime
	auto noauto user nouser users group owner _netdev nofail comment silent loud`

// checkKernelOptions takes what --options says apart.
func checkKernelOptions(text string) ([]string, error) {
	var all []string
	for name := range strings.SplitSeq(text, ",") {
		if name == "" || name == "rw" || name == "exec" {
			continue
		}
		if !kernelOptions[name] {
			return nil, usageError{fmt.Errorf("--options takes ro and noexec, not %q", name)}
		}
		all = append(all, name)
	}
	return all, nil
}

// notOptions are the flags of mount that mount(8) says otherwise.
var notOptions = map[string]bool{"store": true, "foreground": true, "options": true, "help": true}

// others reports whether an option is for mount(8) itself, for systemd, or for
// other programs that read fstab.
func others(name string) bool {
	return name == "" || slices.Contains(strings.Fields(ignoredOptions), name) ||
		strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "X-")
}
