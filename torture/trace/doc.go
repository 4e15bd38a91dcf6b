// Package trace runs a program and stands between it and the kernel: it sees
// each system call that may change something below one directory, over all
// threads of the program, and can kill the program before or after it, make it
// fail, or pretend that it succeeded.
//
// The program asks for it: it calls [Filter], which puts a seccomp filter into
// it that stops the calls of a short list; all others run at full speed. From
// then on the calls are traced. A call is named by its kind, its path and its
// number among those with the same kind and path, so that a point is found
// again in the next run, whatever the threads did in between.
//
// Linux on x86-64. It needs the right to ptrace its own children, which some
// containers do not give.
package trace
