//go:build !linux || !amd64

package trace

import "errors"

var errPlatform = errors.New("system calls are traced on Linux on x86-64 only")

// Run fails.
func Run(Program, func(Call) Action) (Result, error) { return Result{}, errPlatform }

// Filter fails.
func Filter() error { return errPlatform }
