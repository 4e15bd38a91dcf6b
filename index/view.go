package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Member is an entry under a value of a kind.
type Member struct {
	Link string    // its name there, see LinkName
	Path string    // from the store's root
	Time time.Time // from its name
}

// The values of BySuperseded.
const (
	supersededYes = "yes"
	supersededNo  = "no"
)

// Values returns the values of a kind, escaped as names of files, in the order
// of their bytes, at most limit of those after a name. It waits for what was
// committed before.
func (x *Index) Values(ctx context.Context, k Kind, after string, limit int) ([]string, error) {
	if k == BySuperseded {
		var all []string
		for _, v := range []string{supersededNo, supersededYes} {
			if v > after && len(all) < limit {
				all = append(all, v)
			}
		}
		return all, nil
	}
	db, err := x.current(ctx)
	if err != nil {
		return nil, err
	}
	// From value to value by the index: how many entries there are under each
	// does not matter.
	var all []string
	for len(all) < limit {
		var v sql.NullString
		err := db.QueryRowContext(ctx, "SELECT min(value) FROM facet WHERE kind = ? AND value > ?", k, after).Scan(&v)
		if err != nil {
			return nil, x.broken(err)
		}
		if !v.Valid {
			break
		}
		all = append(all, v.String)
		after = v.String
	}
	return all, nil
}

// HasValue reports whether there is an entry under value.
func (x *Index) HasValue(ctx context.Context, k Kind, value string) (bool, error) {
	if k == BySuperseded {
		return value == supersededYes || value == supersededNo, nil
	}
	db, err := x.current(ctx)
	if err != nil {
		return false, err
	}
	var one int
	err = db.QueryRowContext(ctx, "SELECT 1 FROM facet WHERE kind = ? AND value = ? LIMIT 1", k, value).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, x.broken(err)
}

// Members returns the entries under value, in the order of their links' bytes,
// at most limit of those after a name.
func (x *Index) Members(ctx context.Context, k Kind, value, after string, limit int) ([]Member, error) {
	return x.members(ctx, k, value, "e.link > ?", after, limit)
}

// Member returns the entry that is called link under value.
func (x *Index) Member(ctx context.Context, k Kind, value, link string) (m Member, ok bool, err error) {
	all, err := x.members(ctx, k, value, "e.link = ?", link, 1)
	if err != nil || len(all) == 0 {
		return Member{}, false, err
	}
	return all[0], true, nil
}

func (x *Index) members(ctx context.Context, k Kind, value, which, link string, limit int) ([]Member, error) {
	db, err := x.current(ctx)
	if err != nil {
		return nil, err
	}
	query, args := "", []any{link, limit}
	switch {
	case k == BySuperseded && value == supersededYes:
		query = "entry e WHERE " + superseded + " AND " + which
	case k == BySuperseded:
		query = "entry e WHERE NOT " + superseded + " AND " + which
	default:
		query = "facet e JOIN entry t ON t.id = e.id WHERE e.kind = ? AND e.value = ? AND " + which
		args = append([]any{k, value}, args...)
	}
	columns := "e.link, e.dir || '/' || e.name, e.time"
	if k != BySuperseded {
		columns = "e.link, t.dir || '/' || t.name, t.time"
	}
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM "+query+" ORDER BY e.link LIMIT ?", args...)
	if err != nil {
		return nil, x.broken(err)
	}
	defer rows.Close()
	var all []Member
	for rows.Next() {
		var m Member
		var at int64
		if err := rows.Scan(&m.Link, &m.Path, &at); err != nil {
			return nil, x.broken(err)
		}
		m.Time = time.Unix(at, 0)
		all = append(all, m)
	}
	return all, x.broken(rows.Err())
}

// current is the file, after it has followed what was committed before.
func (x *Index) current(ctx context.Context) (*sql.DB, error) {
	x.settle(ctx)
	return x.Reader.file(ctx)
}

// broken notes that an answer failed because the file is damaged.
func (x *Index) broken(err error) error {
	if err == nil {
		return nil
	}
	if err = damaged(err); IsDamaged(err) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.again(err)
	}
	return fmt.Errorf("ask the index: %w", err)
}
