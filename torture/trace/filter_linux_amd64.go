package trace

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Filter makes every thread of the calling process stop for its tracer before
// each system call that may change a disk; without a tracer such calls fail
// with ENOSYS from now on. It cannot be undone.
func Filter() error {
	numbers := make([]uint64, 0, len(kinds))
	for nr := range kinds {
		numbers = append(numbers, nr)
	}
	slices.Sort(numbers)
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
	)
	program := []unix.SockFilter{{Code: load, K: 0}} // the number is first in seccomp_data
	for i, nr := range numbers {
		program = append(program, unix.SockFilter{Code: equal, K: uint32(nr), Jt: uint8(len(numbers) - i)})
	}
	program = append(program,
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_TRACE})

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("seccomp: give up new privileges: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	blamed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp is not permitted here: %w", errno)
	}
	if blamed != 0 {
		return fmt.Errorf("seccomp: thread %d could not take the filter", blamed)
	}
	return nil
}
