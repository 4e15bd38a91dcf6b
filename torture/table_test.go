package torture

import "ctxfs/torture/tried"

// table is what was tried and what held.
var table report

type report struct{ tried.Table }

func (r *report) add(what string, tried, held int, note string) { r.Add(what, tried, held, note) }
