package variables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"ctxfs/backing"
	"ctxfs/room"
)

// CheckStore reads the variables that are files of store, and what says their
// types, and reports what is wrong with them. It changes nothing and may run
// beside a writer. It needs memory for the types that a scope's keys do not
// say. The error is the store's or ctx's; problems are none.
func CheckStore(ctx context.Context, store backing.Store, report func(room.Problem)) error {
	err := room.Each(ctx, store, roomDir, func(m backing.Meta) error {
		scope, err := ParseScope(m.Key.Name())
		if err != nil || !m.Dir {
			report(room.NotShown(m))
			return nil
		}
		return checkScope(ctx, store, scope, report)
	})
	if err != nil {
		return err
	}
	if err := checkLabels(ctx, store, report); err != nil {
		return err
	}
	return checkSpill(ctx, store, report)
}

func checkScope(ctx context.Context, store backing.Store, scope Scope, report func(room.Problem)) error {
	types := newLabels(store)
	return room.Each(ctx, store, scopeDir(scope), func(m backing.Meta) error {
		n := name{scope, m.Key.Name()}
		if !regular(m) || CheckKey(n.key) != nil {
			report(room.NotShown(m))
			return nil
		}
		if strings.HasSuffix(n.key, rejEnd) {
			if err := room.CheckReject(ctx, store, m.Key, string(m.Key), report); err != nil {
				return err
			}
		}
		return checkValue(ctx, store, types, n, m, report)
	})
}

// checkTries bounds how often a value is checked again that is being replaced.
const checkTries = 4

// checkValue reads a variable, and sees that one of type json is JSON. The
// types that are known may be older than the value: what seems wrong is looked
// at again.
func checkValue(ctx context.Context, store backing.Store, types *labels, n name, m backing.Meta, report func(room.Problem)) error {
	for range checkTries {
		typ, err := types.typeOf(ctx, n, m.Revision)
		if err != nil {
			return err
		}
		wrong := room.Problem{}
		err = room.Examine(ctx, store, n.file(), string(n.file()), func(p room.Problem) { wrong = p },
			func(r *io.SectionReader) error {
				if typ == JSON && r.Size() > 0 {
					return jsonRefusal(n, checkJSON(r))
				}
				_, err := io.Copy(io.Discard, r)
				return err
			})
		if err != nil || wrong.Reason == "" {
			return err
		}
		now, err := store.Stat(ctx, n.file())
		if errors.Is(err, backing.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		types = newLabels(store)
		again, err := types.typeOf(ctx, n, now.Revision)
		if err != nil {
			return err
		}
		if now.Revision == m.Revision && again == typ {
			report(wrong)
			return nil
		}
		m = now
	}
	return nil // it changes all the time; the next check will see it
}

// typeOf is the type of n with its content at rev.
func (l *labels) typeOf(ctx context.Context, n name, rev backing.Revision) (Type, error) {
	lab, said, err := l.get(ctx, n, rev)
	if err != nil || said {
		return lab.Type, err
	}
	return typeOfKey(n.key), nil
}

// checkLabels reads the files that say the types of variables.
func checkLabels(ctx context.Context, store backing.Store, report func(room.Problem)) error {
	return room.Each(ctx, store, labelFile("").Dir(), func(m backing.Meta) error {
		path := string(m.Key)
		scope, ok := strings.CutSuffix(m.Key.Name(), labelEnd)
		if _, err := ParseScope(scope); !ok || err != nil || !regular(m) {
			report(room.Problem{Path: path, Warning: true, Reason: "it says the types of no scope", Fix: "remove it if you know it to be of no use"})
			return nil
		}
		return room.Examine(ctx, store, m.Key, path, report, func(r *io.SectionReader) error {
			return room.Lines(r, maxLabel, func(n int, line []byte, ended bool) error {
				checkLabel(path, n, line, ended, report)
				return ctx.Err()
			})
		})
	})
}

// maxLabel is more than a line of the types takes, in bytes.
const maxLabel = 64 << 10

func checkLabel(path string, n int, line []byte, ended bool, report func(room.Problem)) {
	var l labelLine
	switch err := json.Unmarshal(line, &l); {
	case !ended:
		report(room.Problem{Path: path, Line: n, Warning: true, Leftover: true, Reason: "the last line has no end: a crash cut it off",
			Fix: "nothing is lost: the change that it was for did not happen"})
	case err != nil || l.Key == "":
		report(room.Problem{Path: path, Line: n, Reason: "it says no variable's type", Fix: "remove the line while no daemon runs; " +
			"give the variable its type again with `setfattr -n user.ctxfs.type`"})
	case !l.Gone:
		if _, err := ParseType(string(l.Type)); err != nil && l.Type != "" {
			report(room.Problem{Path: path, Line: n, Field: "type", Reason: fmt.Sprintf("%.60q is no type of a variable", l.Type),
				Fix: "give the variable " + l.Key + " one with `setfattr -n user.ctxfs.type`"})
		}
	}
}

// checkSpill reports what session variables have left on disk.
func checkSpill(ctx context.Context, store backing.Store, report func(room.Problem)) error {
	var size int64
	count := 0
	err := room.Each(ctx, store, spillDir, func(m backing.Meta) error {
		count++
		size += m.Size
		return nil
	})
	if err != nil || count == 0 {
		return err
	}
	report(room.Problem{Path: string(spillDir), Warning: true, Leftover: true,
		Reason: fmt.Sprintf("%d files (%d bytes) are left of session variables that have ended with their daemon", count, size),
		Fix:    "the next start removes them",
		Mend: func(ctx context.Context) (string, error) {
			v, err := New(store, Options{})
			if err != nil {
				return "", err
			}
			return "removed them", v.Close()
		}})
	return nil
}
