package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ctxfs/backing"
)

// errMissed is what a statement of a write returns whose conditions did not
// hold: nothing has happened, and a look at the key says why.
var errMissed = errors.New("the statement found nothing to change")

// told turns err into the error of a method: what was done to what.
func told(what string, key backing.Key, err error) error {
	if err == nil {
		return nil
	}
	if key == "" {
		return fmt.Errorf("%s the top directory: %w", what, err)
	}
	return fmt.Errorf("%s %s: %w", what, key, err)
}

// notSent is an error from before anything was sent to the server.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// answer reports whether err is what a statement found, and no failure.
func answer(err error) bool {
	for _, e := range []error{errMissed, errBehind, pgx.ErrNoRows, backing.ErrWithdrawn} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// verdict is what an error says about the statement that it ended.
type verdict int

const (
	final   verdict = iota // it did not happen, and will not if it is tried again
	again                  // it did not happen, and another try may do
	unknown                // the connection broke
)

func judge(err error) verdict {
	if answer(err) {
		return final
	}
	if errors.As(err, new(notSent)) || pgconn.SafeToRetry(err) {
		return again
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC" {
		return unknown
	}
	switch {
	case strings.HasPrefix(pg.Code, "08"), pg.Code == "40003":
		return unknown
	case pg.Code == "40001", pg.Code == "40P01", pg.Code == "55P03": // others were in the way
		return again
	case pg.Code == "23505": // another host took the version's number
		return again
	case pg.Code == "0A000" && strings.Contains(pg.Message, "cached plan"): // a migration
		return again
	case pg.Code == readOnlyServer:
		return again
	}
	return final
}

// readOnlyServer is the code of "cannot execute INSERT in a read-only
// transaction": the connection leads to what was the primary.
const readOnlyServer = "25006"

func isCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// fault is what callers learn of a failure of the database: an errno besides
// the text. Those that the network gave are not for them.
func fault(err error) error {
	switch {
	case err == nil, answer(err), errors.Is(err, context.Canceled):
		return err
	}
	errno := syscall.EIO
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &pg):
		errno = errnoOf(pg.Code)
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err), errors.As(err, &connect): // also one that is refused
		errno = syscall.ETIMEDOUT
	}
	return fmt.Errorf("PostgreSQL: %s (%w)", err, errno)
}

func errnoOf(code string) syscall.Errno {
	switch code {
	case "53100": // disk full
		return syscall.ENOSPC
	case "57014": // statement_timeout
		return syscall.ETIMEDOUT
	case "42501": // insufficient privilege
		return syscall.EACCES
	case readOnlyServer:
		return syscall.EROFS
	}
	return syscall.EIO
}
