package variables

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// listContent is .list: a line of JSON for each variable.
func (v *Variables) listContent(ctx context.Context, c room.Caller, scope Scope) (backing.Content, error) {
	b := room.NewBuffer(v.store)
	after := ""
	for {
		var page []state
		var err error
		if scope == selfScope {
			page, err = v.selfPage(ctx, c, after, listPage)
		} else {
			page, err = v.page(ctx, scope, after, listPage)
		}
		if err == nil {
			err = addLines(b, page)
		}
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		if len(page) < listPage {
			return b, nil
		}
		after = page[len(page)-1].name.key
	}
}

func addLines(b *room.Buffer, page []state) error {
	var text []byte
	for _, s := range page {
		if s.pending {
			continue
		}
		line, err := json.Marshal(s.meta())
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	_, err := b.Append(text)
	return err
}

// summaryOf finds the variable of .summary/<key> or .summary/<key>@<tokens>.
func (v *Variables) summaryOf(ctx context.Context, c room.Caller, p place) (state, int, error) {
	s, err := v.seen(ctx, c, p.name())
	if !errors.Is(err, backing.ErrNotFound) {
		return s, 0, err
	}
	i := strings.LastIndexByte(p.key, '@')
	if i < 0 {
		return s, 0, err
	}
	tokens, bad := strconv.Atoi(p.key[i+1:])
	if bad != nil || tokens < 1 {
		return s, 0, err
	}
	s, err = v.seen(ctx, c, name{p.scope, p.key[:i]})
	return s, tokens, err
}

func (v *Variables) summaryContent(ctx context.Context, c room.Caller, p place) (backing.Content, error) {
	s, tokens, err := v.summaryOf(ctx, c, p)
	if err != nil {
		return nil, err
	}
	text, err := v.summarize(ctx, s, tokens)
	if err != nil {
		return nil, err
	}
	return newBytes([]byte(text)), nil
}
