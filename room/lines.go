package room

import (
	"bufio"
	"errors"
	"io"
)

// Lines calls f for each line of r, numbered from 1 and without its end; ended
// is false for a last one that has none. A line longer than most bytes is cut
// to most+1. It needs memory for one line; f must not keep it.
func Lines(r io.Reader, most int, f func(n int, line []byte, ended bool) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for n := 1; ; {
		piece, err := in.ReadSlice('\n')
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		line = append(line, piece[:min(len(piece), most+1-len(line))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil && len(line) == 0:
			return nil
		}
		if ferr := f(n, line, ended); ferr != nil || !ended {
			return ferr
		}
		n++
		line = line[:0]
	}
}
