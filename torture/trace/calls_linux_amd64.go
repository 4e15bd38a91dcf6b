package trace

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// kind says where a system call has what it changes.
type kind struct {
	name string
	fd   int // argument that is a descriptor of the file, -1 for none
	dir  int // argument that is a directory's descriptor, -1 for the working directory
	path int // argument that is a path, -1 for none
}

// kinds are the calls that change what is on a disk. Those that x86-64 has
// beside their newer forms are here too, for programs that are not of Go.
var kinds = map[uint64]kind{
	unix.SYS_OPEN:            {"open", -1, -1, 0},
	unix.SYS_CREAT:           {"creat", -1, -1, 0},
	unix.SYS_OPENAT:          {"openat", -1, 0, 1},
	unix.SYS_OPENAT2:         {"openat2", -1, 0, 1},
	unix.SYS_WRITE:           {"write", 0, -1, -1},
	unix.SYS_PWRITE64:        {"pwrite64", 0, -1, -1},
	unix.SYS_WRITEV:          {"writev", 0, -1, -1},
	unix.SYS_PWRITEV:         {"pwritev", 0, -1, -1},
	unix.SYS_PWRITEV2:        {"pwritev2", 0, -1, -1},
	unix.SYS_COPY_FILE_RANGE: {"copy_file_range", 2, -1, -1},
	unix.SYS_SENDFILE:        {"sendfile", 0, -1, -1},
	unix.SYS_SPLICE:          {"splice", 2, -1, -1},
	unix.SYS_FALLOCATE:       {"fallocate", 0, -1, -1},
	unix.SYS_TRUNCATE:        {"truncate", -1, -1, 0},
	unix.SYS_FTRUNCATE:       {"ftruncate", 0, -1, -1},
	unix.SYS_FSYNC:           {"fsync", 0, -1, -1},
	unix.SYS_FDATASYNC:       {"fdatasync", 0, -1, -1},
	unix.SYS_SYNC_FILE_RANGE: {"sync_file_range", 0, -1, -1},
	unix.SYS_SYNCFS:          {"syncfs", 0, -1, -1},
	unix.SYS_RENAME:          {"rename", -1, -1, 1},
	unix.SYS_RENAMEAT:        {"renameat", -1, 2, 3},
	unix.SYS_RENAMEAT2:       {"renameat2", -1, 2, 3},
	unix.SYS_LINK:            {"link", -1, -1, 1},
	unix.SYS_LINKAT:          {"linkat", -1, 2, 3},
	unix.SYS_SYMLINK:         {"symlink", -1, -1, 1},
	unix.SYS_SYMLINKAT:       {"symlinkat", -1, 1, 2},
	unix.SYS_UNLINK:          {"unlink", -1, -1, 0},
	unix.SYS_UNLINKAT:        {"unlinkat", -1, 0, 1},
	unix.SYS_RMDIR:           {"rmdir", -1, -1, 0},
	unix.SYS_MKDIR:           {"mkdir", -1, -1, 0},
	unix.SYS_MKDIRAT:         {"mkdirat", -1, 0, 1},
	unix.SYS_CHMOD:           {"chmod", -1, -1, 0},
	unix.SYS_FCHMOD:          {"fchmod", 0, -1, -1},
	unix.SYS_FCHMODAT:        {"fchmodat", -1, 0, 1},
	unix.SYS_FCHOWN:          {"fchown", 0, -1, -1},
	unix.SYS_FCHOWNAT:        {"fchownat", -1, 0, 1},
	unix.SYS_UTIMENSAT:       {"utimensat", -1, 0, 1},
	unix.SYS_SETXATTR:        {"setxattr", -1, -1, 0},
	unix.SYS_FSETXATTR:       {"fsetxattr", 0, -1, -1},
}

// look returns the call that tid is about to make, with the path of what it
// changes, and false where that is not below dir.
func look(tid int, regs *unix.PtraceRegs, dir string) (c Call, file string, ours bool) {
	nr, args := callOf(regs)
	k, known := kinds[nr]
	if !known || reads(k, tid, args) {
		return Call{}, "", false
	}
	path := k.target(tid, args)
	rest, below := strings.CutPrefix(path, dir)
	if !below || rest != "" && rest[0] != '/' {
		return Call{}, "", false
	}
	return Call{Kind: k.name, Path: anonymous(strings.TrimPrefix(rest, "/"))}, path, true
}

// reads reports whether an open neither makes nor empties a file.
func reads(k kind, tid int, args [6]uint64) bool {
	var flags uint64
	switch k.name {
	case "open":
		flags = args[1]
	case "openat":
		flags = args[2]
	case "openat2":
		how := make([]byte, 8)
		if peek(tid, args[2], how) < len(how) {
			return false
		}
		for i, b := range how {
			flags |= uint64(b) << (8 * i)
		}
	default:
		return false
	}
	return flags&(unix.O_CREAT|unix.O_TRUNC|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0
}

// target is the path of what the call changes.
func (k kind) target(tid int, args [6]uint64) string {
	if k.fd >= 0 {
		return descriptor(tid, int32(args[k.fd]))
	}
	path := text(tid, args[k.path])
	if rest, ok := strings.CutPrefix(path, "/proc/self/fd/"); ok {
		var fd int32
		if _, err := fmt.Sscanf(rest, "%d", &fd); err == nil {
			return descriptor(tid, fd)
		}
	}
	if strings.HasPrefix(path, "/") {
		return path
	}
	at := int32(unix.AT_FDCWD)
	if k.dir >= 0 {
		at = int32(args[k.dir])
	}
	above := descriptor(tid, at)
	if path == "" || path == "." {
		return above
	}
	return above + "/" + path
}

func descriptor(tid int, fd int32) string {
	link := fmt.Sprintf("/proc/%d/fd/%d", tid, fd)
	if fd == unix.AT_FDCWD {
		link = fmt.Sprintf("/proc/%d/cwd", tid)
	}
	path, err := os.Readlink(link)
	if err != nil {
		return "" // closed, or not valid: the kernel will say so itself
	}
	return path
}

// random are the directories in which names are others in each run.
var random = []string{".ctxfs/staging/", ".ctxfs/vars-spill/"}

// anonymous puts "*" in the place of such a name.
func anonymous(path string) string {
	for _, dir := range random {
		if i := strings.LastIndex(path, dir); i >= 0 {
			return path[:i+len(dir)] + "*"
		}
	}
	return path
}

// text reads a string that ends in NUL.
func text(tid int, addr uint64) string {
	buf := make([]byte, unix.PathMax)
	n := peek(tid, addr, buf)
	if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
		n = i
	}
	return string(buf[:n])
}

// peek reads what it can of the memory at addr: the read of a page that is
// not there ends it.
func peek(tid int, addr uint64, p []byte) int {
	const page = 4096
	done := 0
	for done < len(p) {
		n := min(len(p)-done, int(page-(addr+uint64(done))%page))
		local := unix.Iovec{Base: &p[done]}
		local.SetLen(n)
		got, err := unix.ProcessVMReadv(tid, []unix.Iovec{local},
			[]unix.RemoteIovec{{Base: uintptr(addr) + uintptr(done), Len: n}}, 0)
		if err != nil || got <= 0 {
			return done
		}
		done += got
		if bytes.IndexByte(p[done-got:done], 0) >= 0 {
			return done
		}
	}
	return done
}
