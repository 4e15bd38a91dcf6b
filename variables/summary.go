package variables

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"sync"

	"ctxfs/backing"
)

// DefaultSummaryTokens is the length of a summary for which no other is
// asked; MaxSummaryTokens the most that can be asked.
const (
	DefaultSummaryTokens = 200
	MaxSummaryTokens     = 20000
)

// Summarize returns what the content of a variable is about, in at most
// maxTokens tokens (cl100k_base); 0 is [DefaultSummaryTokens]. It comes from
// [Options.Summarizer] where there is one and it works, else it is made from
// the content by type. The next call for the same content reads nothing.
// backing.ErrNotFound.
func (v *Variables) Summarize(ctx context.Context, scope Scope, key string, maxTokens int) (string, error) {
	n, err := parseName(scope, key)
	if err != nil {
		return "", err
	}
	s, err := v.committed(ctx, n)
	if err != nil {
		return "", err
	}
	return v.summarize(ctx, s, maxTokens)
}

func (v *Variables) summarize(ctx context.Context, s state, tokens int) (string, error) {
	if tokens <= 0 {
		tokens = DefaultSummaryTokens
	}
	tokens = min(tokens, MaxSummaryTokens)
	at := summaryKey{s.name, s.rev, s.typ, tokens}
	if text, ok := v.summaries.get(at); ok {
		return text, nil
	}
	c, err := v.open(ctx, s.name, s.rev)
	if err != nil {
		return "", fmt.Errorf("summarize %s: %w", s.name.path(), err)
	}
	defer c.Close()
	text, keep, err := v.makeSummary(ctx, s, c, tokens)
	if err != nil {
		return "", fmt.Errorf("summarize %s: %w", s.name.path(), err)
	}
	if keep {
		v.summaries.put(at, text)
	}
	return text, nil
}

// makeSummary asks the summarizer, and makes the built-in summary where it
// cannot help. Its failure is kept no longer than this call.
func (v *Variables) makeSummary(ctx context.Context, s state, c backing.Content, tokens int) (text string, keep bool, err error) {
	keep = true
	if v.o.Summarizer != nil && c.Size() > 0 {
		text, err = v.o.Summarizer.Summarize(ctx, s.typ, io.NewSectionReader(c, 0, c.Size()), tokens)
		if err == nil && text != "" {
			text, err = cutTokens(text, tokens)
			return text, true, err
		}
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		keep = false
		v.o.Log.Warn("the summarizer failed, using the built-in summary", "variable", s.name.path(), "err", err)
	}
	lines, err := outline(s.typ, c)
	if err != nil {
		return "", false, err
	}
	text, err = fit(lines, tokens)
	return text, keep, err
}

// summaryKey is what a summary is of: one content.
type summaryKey struct {
	name   name
	rev    backing.Revision
	typ    Type
	tokens int
}

// summariesMost is how many summaries are kept, summariesBytes how long they
// are together.
const (
	summariesMost  = 10000
	summariesBytes = 8 << 20
)

// summaries keeps those that were made last.
type summaries struct {
	mu    sync.Mutex // guards all below
	at    map[summaryKey]*list.Element
	uses  list.List // of summary, the least recently used first
	bytes int
}

type summary struct {
	key  summaryKey
	text string
}

func newSummaries() *summaries { return &summaries{at: map[summaryKey]*list.Element{}} }

func (ss *summaries) get(k summaryKey) (string, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	e := ss.at[k]
	if e == nil {
		return "", false
	}
	ss.uses.MoveToBack(e)
	return e.Value.(summary).text, true
}

func (ss *summaries) put(k summaryKey, text string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.at[k] != nil {
		return
	}
	ss.at[k] = ss.uses.PushBack(summary{k, text})
	ss.bytes += len(text)
	for ss.uses.Len() > summariesMost || ss.bytes > summariesBytes {
		old := ss.uses.Remove(ss.uses.Front()).(summary)
		delete(ss.at, old.key)
		ss.bytes -= len(old.text)
	}
}
