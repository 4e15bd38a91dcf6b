package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"ctxfs/housekeeping"
)

// gcPrinter prints what housekeeping tells, as it comes.
type gcPrinter struct {
	out     io.Writer
	errs    *os.File // a terminal for progress; nil without one
	request housekeeping.Request
	json    bool
	rows    *table
	shown   bool // progress stands on the terminal
}

func newGCPrinter(out, errs io.Writer, r housekeeping.Request, asJSON bool) *gcPrinter {
	p := &gcPrinter{out: out, request: r, json: asJSON}
	if f, ok := errs.(*os.File); ok && isTerminal(f) {
		p.errs = f
	}
	return p
}

// event prints one event.
func (p *gcPrinter) event(e housekeeping.Event) error {
	if e.Progress != nil {
		return p.progress(*e.Progress)
	}
	if err := p.wipe(); err != nil {
		return err
	}
	switch {
	case p.json && e.Item != nil:
		return printJSON(p.out, e.Item)
	case p.json && e.Archive != nil:
		return printJSON(p.out, e.Archive)
	case p.json && e.Done != nil && p.cleans():
		return printJSON(p.out, map[string]any{"done": e.Done})
	case p.json:
		return nil
	case e.Item != nil:
		return p.item(*e.Item)
	case e.Archive != nil:
		p.row([]string{"ARCHIVE", "SIZE", "CREATED"}, e.Archive.Name, size(e.Archive.Bytes), stamp(e.Archive.Created))
	case e.Done != nil && p.cleans():
		return p.done(*e.Done)
	}
	return nil
}

func (p *gcPrinter) cleans() bool { return p.request.List == nil && p.request.Restore == nil }

// progress writes over what stands on the line of a terminal.
func (p *gcPrinter) progress(at housekeeping.Progress) error {
	if p.errs == nil {
		return nil
	}
	p.shown = true
	_, err := fmt.Fprintf(p.errs, "\r\x1b[K%s: %d of %d files", at.Stage, at.Done, at.Of)
	return err
}

func (p *gcPrinter) wipe() error {
	if !p.shown {
		return nil
	}
	p.shown = false
	_, err := fmt.Fprint(p.errs, "\r\x1b[K")
	return err
}

// item prints what is told of one file, where somebody asked for that.
func (p *gcPrinter) item(i housekeeping.Item) error {
	switch {
	case p.request.Restore != nil:
		_, err := fmt.Fprintf(p.out, "restored %s%s\n", printable(i.Path), withVersions(i))
		return err
	case p.request.List != nil:
		p.row([]string{"WHAT", "PATH", "SIZE", "CHANGED"}, i.What, i.Path+numbers(i), size(i.Bytes), stamp(i.Time))
	case p.request.DryRun:
		p.row([]string{"ACTION", "WHAT", "PATH", "SIZE", "WHY"}, i.Action, i.What, i.Path+numbers(i), size(i.Bytes), i.Why)
	}
	return nil
}

func (p *gcPrinter) row(head []string, cells ...string) {
	if p.rows == nil {
		p.rows = newTable(p.out, head...)
	}
	p.rows.row(cells...)
}

// numbers are those of versions, as " 1-3": they are always in order, and
// nearly always without gaps.
func numbers(i housekeeping.Item) string {
	if len(i.Versions) == 0 || i.What == "entry" {
		return ""
	}
	first, last := i.Versions[0], i.Versions[len(i.Versions)-1]
	if first == last {
		return " " + strconv.Itoa(first)
	}
	return fmt.Sprintf(" %d-%d", first, last)
}

func withVersions(i housekeeping.Item) string {
	switch n := len(i.Versions); {
	case n == 0:
		return ""
	case i.What == "versions":
		return fmt.Sprintf(", %s of it that lay in the archive", counted(n, "version", "versions"))
	default:
		return " and " + counted(n, "version", "versions") + " of it"
	}
}

// done prints the sum.
func (p *gcPrinter) done(d housekeeping.Done) error {
	if err := p.end(); err != nil {
		return err
	}
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{{d.Entries, "entry", "entries"}, {d.Versions, "old version", "old versions"}, {d.Scratch, "other file", "other files"}} {
		if part.n > 0 {
			parts = append(parts, counted(part.n, part.one, part.many))
		}
	}
	text := "nothing to archive"
	if len(parts) > 0 {
		text = "archived and removed " + strings.Join(parts, ", ")
	}
	if d.Results > 0 {
		text += "; cleared " + counted(d.Results, "result", "results")
	}
	if d.Bytes > 0 {
		text += "; " + size(d.Bytes) + " in all"
	}
	if d.Kept > 0 {
		text += "; " + counted(d.Kept, "old file stays", "old files stay")
	}
	if d.DryRun {
		text = "would have: " + text
	}
	if d.Archive != nil {
		text += fmt.Sprintf("\nin %s (%s)", d.Archive.Path(), size(d.Archive.Bytes))
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// end writes what is still held back.
func (p *gcPrinter) end() error {
	if err := p.wipe(); err != nil || p.rows == nil {
		return err
	}
	rows := p.rows
	p.rows = nil
	return rows.flush()
}
