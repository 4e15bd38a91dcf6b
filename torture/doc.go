// Package torture holds the tests that try to break what ctxfs promises about
// data: a kill before and after each system call of each operation, an error
// from each of them, and a loss of power between any two writes of the disk.
// docs/reliability.md says what is promised and how it is tried; scripts/torture
// runs everything.
//
// The tests of this package start their own binary as the process that is
// tortured (see TestMain). They need root, for ptrace, loop devices and mounts,
// and fail without; go test -short leaves them out. A bounded part runs in
// go test, the whole with -torture.full.
package torture
