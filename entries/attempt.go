package entries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"

	"ctxfs/backing"
	"ctxfs/codec"
	"ctxfs/room"
)

// attempt merges s with cur and puts the result, if cur is still current.
func (e *Entries) attempt(ctx context.Context, s save, cur version) (published, error) {
	done := published{before: cur.content, existed: cur.exists, at: e.now()}
	amends := s.compare(cur, &done)
	complete, err := codec.Complete(s.content, e.known(s.p, sessionOf(cur, s.by)))
	if err != nil {
		return done, err
	}
	complete, targets, err := e.linkSuperseded(ctx, s, complete, done.before)
	if err != nil {
		return done, err
	}
	var old []byte
	if len(done.before) > 0 {
		old = done.before
	}
	merged, changed := codec.Merge(old, complete, codec.Author{Agent: s.by.Agent, Time: done.at, Over: done.over})
	if !changed && !amends || cur.exists && bytes.Equal(merged, cur.content) {
		if s.sure != nil && !s.sure() {
			return done, room.ErrWithdrawn
		}
		done.meta = e.settle(ctx, s.attr, cur.meta, false)
		return done, nil
	}
	if len(merged) > MaxSize {
		return done, &codec.Refusal{Errno: syscall.EFBIG, Path: s.p.path,
			Reason: fmt.Sprintf("an entry has at most %d MiB", MaxSize>>20), Fix: "shorten the body"}
	}
	return e.replace(ctx, s, cur, merged, done, targets, amends)
}

// replace puts merged in the place of cur.
func (e *Entries) replace(ctx context.Context, s save, cur version, merged []byte, done published, targets []string, amends bool) (published, error) {
	done.marks = e.marksOf(s, targets, done.at)
	if err := e.intents.add(ctx, e.store, done.marks); err != nil {
		return done, err
	}
	o := e.putOptions(s, cur, amends)
	m, err := e.put(ctx, s.p.key(), merged, o)
	if err != nil {
		if !errors.Is(err, backing.ErrUnknown) {
			err = errors.Join(err, e.intents.remove(ctx, e.store, done.marks))
		}
		return done, err
	}
	if !cur.exists {
		m = e.own(ctx, s.owner(), m)
	}
	done.made, done.meta = true, e.settle(ctx, s.attr, m, true)
	return done, nil
}

// putOptions says how the next version is put: an overwrite keeps the old one
// and its mode, but an amendment keeps no version that its own writer made.
func (e *Entries) putOptions(s save, cur version, amends bool) backing.PutOptions {
	o := backing.PutOptions{If: backing.Absent, Op: newOp(), Sure: s.sure}
	if cur.exists {
		o.If, o.KeepVersion = cur.meta.Revision, !amends
	} else {
		o.Mode = readable(s.mode)
	}
	if p, ok := e.pendingInfo(s.p.path); ok && !cur.exists {
		o.Mode = readable(p.Mode)
	}
	if s.attr.Mode != nil {
		o.Mode = *s.attr.Mode
	}
	if s.attr.ModTime != nil {
		o.ModTime = *s.attr.ModTime
	}
	return o
}

// compare sets in done what s amends or overwrites, and reports whether it
// amends its writer's own last commit.
func (s save) compare(cur version, done *published) (amends bool) {
	if s.began == nil || !cur.exists {
		return false
	}
	begun, mine := s.began()
	if mine != nil && mine.meta.Revision == cur.meta.Revision {
		// The line keeps its time: who has read it meanwhile and writes it
		// back brings the same line, not a second one.
		done.before, done.existed, done.at, done.over = mine.before, mine.existed, mine.at, mine.over
		return true
	}
	if begun != cur.meta.Revision {
		done.over = lastWriter(cur.content)
	}
	return false
}

// lastWriter names who made the current content.
func lastWriter(content []byte) string {
	if agent := codec.LastAuthor(content); agent != "" {
		return agent
	}
	if entry, err := codec.Parse(content); err == nil && entry.Agent != "" {
		return entry.Agent
	}
	return "another writer"
}

// sessionOf is the session that an entry keeps when it is overwritten, and
// the caller's for a new one.
func sessionOf(cur version, c room.Caller) string {
	if cur.exists {
		if entry, err := codec.Parse(cur.content); err == nil && entry.Session != "" {
			return entry.Session
		}
	}
	return c.Session
}
