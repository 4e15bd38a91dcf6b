package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// trial makes what a search by PostgreSQL itself would need. The words of an
// entry are cut at what is neither letter nor digit, without stemming, as the
// index of ctxfs does.
var trial = []struct{ what, sql string }{
	{"copy of the text", `CREATE TABLE ctxfs_trial.entries AS SELECT o.dir, o.name, convert_from(c.data, 'UTF8') AS text
		FROM ctxfs_objects o JOIN ctxfs_chunks c ON c.body = o.body WHERE NOT o.is_dir AND o.name LIKE '%.md'`},
	{"column of tsvector", `ALTER TABLE ctxfs_trial.entries ADD words tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED`},
	{"GIN index of tsvector", `CREATE INDEX words ON ctxfs_trial.entries USING gin (words)`},
	{"GIN index of pg_trgm", `CREATE INDEX trigrams ON ctxfs_trial.entries USING gin (text ctxfs_trial.gin_trgm_ops)`},
	{"statistics", `ANALYZE ctxfs_trial.entries`},
}

// question is asked of both.
type question struct {
	what string
	args []string // of ctxfs search
	sql  string   // of PostgreSQL, with the newest twenty first as ctxfs has them
}

const newest = " ORDER BY name DESC LIMIT 20"

// questions are about two words of which one is rare and one is in most
// entries; see words.
func questions(rare, common string) []question {
	words := "SELECT dir, name FROM ctxfs_trial.entries WHERE words @@ "
	expression := rare[:4] + "[a-z]+" + rare[len(rare)-2:] + "x"
	return []question{
		{"a rare word", []string{rare}, words + "'" + rare + "'" + newest},
		{"a rare word, ranked", []string{rare}, "SELECT dir, name FROM ctxfs_trial.entries WHERE words @@ '" + rare + "' ORDER BY ts_rank(words, '" + rare + "') DESC LIMIT 20"},
		{"a word of most entries", []string{common}, words + "'" + common + "'" + newest},
		{"a word of most entries, ranked", []string{common}, "SELECT dir, name FROM ctxfs_trial.entries WHERE words @@ '" + common + "' ORDER BY ts_rank(words, '" + common + "') DESC LIMIT 20"},
		{"both", []string{rare, common}, words + "'" + rare + " & " + common + "'" + newest},
		{"an expression that nothing has", []string{"--regex", expression}, "SELECT dir, name FROM ctxfs_trial.entries WHERE text ~ '" + expression + "'" + newest},
	}
}

// ofSearch measures ctxfs search beside a mount, and PostgreSQL's own.
func ofSearch(ctx context.Context, s settings) (err error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	defer func() {
		_, dropped := conn.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS ctxfs_trial CASCADE")
		err = errors.Join(err, dropped)
	}()
	if err := build(ctx, conn); err != nil {
		return err
	}
	rare, common, err := words(ctx, conn)
	if err != nil {
		return err
	}
	for _, q := range questions(rare, common) {
		err := s.times("PostgreSQL: "+q.what, func() error {
			rows, err := conn.Query(ctx, q.sql)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (int, error) { return 0, nil })
			return err
		})
		if err != nil {
			return err
		}
	}
	return ofIndex(ctx, s, questions(rare, common))
}

func build(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "CREATE SCHEMA ctxfs_trial; CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA ctxfs_trial"); err != nil {
		return err
	}
	for _, step := range trial {
		err := once("PostgreSQL: "+step.what, func() error {
			_, err := conn.Exec(ctx, step.sql)
			return err
		})
		if err != nil {
			return err
		}
	}
	rows, err := conn.Query(ctx, `SELECT relname, pg_table_size(oid) FROM pg_class WHERE relnamespace = 'ctxfs_trial'::regnamespace AND relkind IN ('r', 'i')`)
	if err != nil {
		return err
	}
	var name string
	var size int64
	_, err = pgx.ForEachRow(rows, []any{&name, &size}, func() error {
		say("PostgreSQL: size of "+name, "%s", mb(size))
		return nil
	})
	return err
}

// words finds a word that a few entries have, and one that most have, in a
// thousandth of the store.
func words(ctx context.Context, conn *pgx.Conn) (rare, common string, err error) {
	const sample = `SELECT word FROM ts_stat('SELECT words FROM ctxfs_trial.entries TABLESAMPLE SYSTEM (0.5) REPEATABLE (1)')
		WHERE word ~ '^[a-z]{6,}$' AND word NOT IN ('timestamp', 'sessionid', 'session', 'finding', 'decision', 'artifact', 'reference', 'summary') `
	if err := conn.QueryRow(ctx, sample+"ORDER BY ndoc, word LIMIT 1").Scan(&rare); err != nil {
		return "", "", err
	}
	return rare, "session", nil
}

// ofIndex asks the index of a mount, with a process for each question, as a
// user does.
func ofIndex(ctx context.Context, s settings, all []question) (err error) {
	m, err := indexedMount(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.end()) }()
	err = s.times("ctxfs: start of the command alone", func() error { return m.run(ctx, nil, "--version") })
	if err != nil {
		return err
	}
	for _, q := range all {
		if strings.HasSuffix(q.what, "ranked") { // it ranks where that says something
			continue
		}
		var out strings.Builder
		err := s.times("ctxfs search: "+q.what, func() error {
			out.Reset()
			return m.run(ctx, &out, append([]string{"search", "--store", m.point()}, q.args...)...)
		})
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out.String())
		}
	}
	return nil
}
