package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// smallMax is the size, in bytes, up to which a content is written in the
	// statement that publishes it, and read whole by the one that opens it.
	smallMax = 256 << 10
	// chunkSize is that of the pieces of larger ones.
	chunkSize = 256 << 10
	// chunksAtOnce are sent in one transaction.
	chunksAtOnce = 4
	// looseFor is how long a body stays that nothing has, after whoever needs
	// it last said so.
	looseFor = "1 hour"
)

// body is content on its way into the store.
type body struct {
	size  int64
	small []byte // all of it, where it is small
	large id     // of the chunks that are in the database already
}

func (b *body) isLarge() bool { return b.size > smallMax }

// of is the id of the body that the write id publishes.
func (b *body) of(write id) id {
	if b.isLarge() {
		return b.large
	}
	return write
}

// stage reads r: a small content into memory, a large one into the database
// as a loose body, with at most chunksAtOnce chunks in memory.
func (s *Store) stage(ctx context.Context, r io.Reader) (*body, error) {
	if u, mine := r.(*upload); mine {
		from, err := u.fromStart()
		if err != nil {
			return nil, err
		}
		r = from
	}
	head, err := io.ReadAll(io.LimitReader(r, smallMax+1))
	if err != nil {
		return nil, err
	}
	if len(head) <= smallMax {
		return &body{size: int64(len(head)), small: head}, nil
	}
	b := &body{large: newID()}
	err = s.stageChunks(ctx, b, io.MultiReader(bytes.NewReader(head), r))
	return b, err
}

func (s *Store) stageChunks(ctx context.Context, b *body, r io.Reader) error {
	buf := make([]byte, chunksAtOnce*chunkSize)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := s.addChunks(ctx, b, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// addChunks adds data at the end of the loose body b.
func (s *Store) addChunks(ctx context.Context, b *body, data []byte) error {
	offs, pieces := cut(data)
	err := s.call(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		var batch pgx.Batch
		batch.Queue(`INSERT INTO ctxfs_loose (body, until) VALUES ($1, now() + interval '`+looseFor+`')
			ON CONFLICT (body) DO UPDATE SET until = excluded.until`, b.large)
		batch.Queue(`INSERT INTO ctxfs_chunks (body, off, data)
			SELECT $1::uuid, $2::bigint + o, d FROM unnest($3::bigint[], $4::bytea[]) AS piece(o, d)
			ON CONFLICT (body, off) DO NOTHING`, b.large, b.size, offs, pieces)
		return conn.SendBatch(ctx, &batch).Close()
	})
	if err == nil {
		b.size += int64(len(data))
	}
	return err
}

// cut divides data into pieces of chunkSize, and says where each begins.
func cut(data []byte) (offs []int64, pieces [][]byte) {
	var at int64
	for piece := range slices.Chunk(data, chunkSize) {
		offs, pieces = append(offs, at), append(pieces, piece)
		at += int64(len(piece))
	}
	return offs, pieces
}
