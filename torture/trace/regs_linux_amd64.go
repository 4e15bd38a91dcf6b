package trace

import (
	"golang.org/x/sys/unix"
)

func callOf(r *unix.PtraceRegs) (nr uint64, args [6]uint64) {
	return r.Orig_rax, [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}
}

// answer keeps the kernel from making the call, which then returns result.
func answer(tid int, r *unix.PtraceRegs, result int64) error {
	r.Orig_rax = ^uint64(0)
	r.Rax = uint64(result)
	return unix.PtraceSetRegs(tid, r)
}
