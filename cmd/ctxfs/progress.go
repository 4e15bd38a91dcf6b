package main

import (
	"fmt"
	"io"
	"time"
)

// progressEvery is how often a line of progress changes.
const progressEvery = 100 * time.Millisecond

// minProgress is the narrowest terminal, in columns, that shows it.
const minProgress = 20

// progress says on a terminal how far long work has come; elsewhere it is
// silent. The zero value is silent too.
type progress struct {
	w       io.Writer
	width   int // columns; 0 where it is silent
	what    string
	count   int
	written time.Time
	shown   bool
}

// newProgress shows, where w is a terminal, what is being done.
func newProgress(w io.Writer, what string) *progress {
	width, _ := terminalWidth(w)
	if width < minProgress {
		width = 0
	}
	return &progress{w: w, width: width, what: what, written: time.Now()}
}

// at counts one more thing, path, that is looked at now.
func (p *progress) at(path string) {
	p.count++
	p.show(path)
}

// show says where the work is, without counting.
func (p *progress) show(path string) {
	if p.width == 0 || time.Since(p.written) < progressEvery {
		return
	}
	line := short(fmt.Sprintf("%s %d: %s", p.what, p.count, path), p.width-1)
	// A terminal that is gone fails what the command prints, too.
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.written, p.shown = time.Now(), true
}

// clear takes the line away, before something else is printed.
func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// end takes it away for good.
func (p *progress) end() {
	p.clear()
	p.width = 0
}
