package trace

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// frames is how far up a stack is looked.
const frames = 40

// site names the functions of this module that led thread tid to its call,
// the innermost first, each with the offset of its call: a traced program is
// this very binary, and Go keeps frame pointers.
func site(tid int, regs *unix.PtraceRegs) string {
	pcs := make([]uintptr, 0, frames)
	word := make([]byte, 16)
	add := func(b []byte) { pcs = append(pcs, uintptr(binary.LittleEndian.Uint64(b))) }
	if peekAll(tid, regs.Rsp, word[:8]) { // where the function without a frame that makes the call returns to
		add(word[:8])
	}
	for frame := regs.Rbp; frame != 0 && len(pcs) < frames && peekAll(tid, frame, word); {
		add(word[8:])
		frame = binary.LittleEndian.Uint64(word[:8])
	}
	var names []string
	for all := runtime.CallersFrames(pcs); ; {
		f, more := all.Next()
		if name, ours := strings.CutPrefix(f.Function, "ctxfs/"); ours {
			names = append(names, fmt.Sprintf("%s+%x", short(name), f.PC-f.Entry))
		}
		if !more {
			return strings.Join(names, " < ")
		}
	}
}

// short is the function's name without the directories of its package, and
// without what the compiler adds to a closure's.
func short(name string) string {
	name = name[strings.LastIndex(name, "/")+1:]
	for _, mark := range []string{".func", ".gowrap", ".deferwrap"} {
		if i := strings.Index(name, mark); i >= 0 {
			name = name[:i]
		}
	}
	return name
}

func peekAll(tid int, addr uint64, p []byte) bool {
	local := unix.Iovec{Base: &p[0]}
	local.SetLen(len(p))
	n, err := unix.ProcessVMReadv(tid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}, 0)
	return err == nil && n == len(p)
}
