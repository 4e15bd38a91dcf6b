package postgres

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ctxfs/backing"
	"ctxfs/backing/postgres/pgtest"
)

// large returns n bytes that are the same every time.
func large(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func TestALargeContentIsReadInRanges(t *testing.T) {
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	want := large(5*chunkSize + 17)
	_, err := s.Put(context.Background(), "a", bytes.NewReader(want), backing.PutOptions{})
	must(t, err)
	// Chunks that are not whole follow those that are.
	for _, more := range []string{"one", strings.Repeat("two", chunkSize), "three"} {
		_, err = s.Append(context.Background(), "a", []byte(more))
		must(t, err)
		want = append(want, more...)
	}
	c, err := s.Open(context.Background(), "a", "")
	must(t, err)
	size := int64(len(want))
	for _, r := range [][2]int64{{0, 1}, {chunkSize - 1, 2}, {1, 3 * chunkSize}, {5 * chunkSize, 40}, {size - 4, 4}, {size - chunkSize, chunkSize}} {
		got := make([]byte, r[1])
		if n, err := c.ReadAt(got, r[0]); n != len(got) || err != nil && err != io.EOF || !bytes.Equal(got, want[r[0]:r[0]+r[1]]) {
			t.Fatalf("%d bytes at %d are others: %d, %v", r[1], r[0], n, err)
		}
	}
	must(t, c.Close())
}

func TestAReplacedLargeContentStaysForWhoReadsIt(t *testing.T) {
	ctx := context.Background()
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	old, new := large(2*chunkSize), large(3*chunkSize)
	_, err := s.Put(ctx, "a", bytes.NewReader(old), backing.PutOptions{})
	must(t, err)
	c, err := s.Open(ctx, "a", "")
	must(t, err)
	_, err = s.Put(ctx, "a", bytes.NewReader(new), backing.PutOptions{})
	must(t, err)
	sweepLater(t, s)
	got := make([]byte, len(old))
	if n, err := c.ReadAt(got, 0); n != len(old) || err != nil || !bytes.Equal(got, old) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	must(t, c.Close())
	sweepLater(t, s)
	if n := chunks(t, s); n != 3 {
		t.Fatalf("%d chunks are left", n)
	}
}

// sweepLater sweeps as if the time of loose bodies were over.
func sweepLater(t testing.TB, s *Store) {
	t.Helper()
	_, err := s.pool.Exec(context.Background(), "UPDATE ctxfs_loose SET until = now() - interval '1 second'")
	must(t, err)
	must(t, s.sweep(context.Background()))
}

func chunks(t testing.TB, s *Store) (n int) {
	t.Helper()
	must(t, s.pool.QueryRow(context.Background(), "SELECT count(*) FROM ctxfs_chunks").Scan(&n))
	return n
}

func TestNoBytesAreLeftOfWhatIsGone(t *testing.T) {
	ctx := context.Background()
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	for _, size := range []int{10, 2 * chunkSize} {
		for i := range 3 {
			_, err := s.Put(ctx, "a", bytes.NewReader(large(size+i)), backing.PutOptions{KeepVersion: i > 0})
			must(t, err)
		}
		m, err := s.Stat(ctx, "a")
		must(t, err)
		list, err := s.Versions(ctx, "a")
		must(t, err)
		for _, err := range s.Discard(ctx, []backing.Removal{{Key: "a", Object: m.Revision, Versions: list}}) {
			must(t, err)
		}
		must(t, s.RestoreVersion(ctx, "a", backing.Version{N: 1}, bytes.NewReader(large(size))))
		list, err = s.Versions(ctx, "a")
		must(t, err)
		must(t, s.Discard(ctx, []backing.Removal{{Key: "a", Versions: list}})[0])
		sweepLater(t, s)
		if n := chunks(t, s); n != 0 {
			t.Fatalf("%d chunks are left of contents of %d bytes", n, size)
		}
	}
}

func TestToOpenALargeContentReadsNoneOfIt(t *testing.T) {
	ctx := context.Background()
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	for _, size := range []int{10, 3 * chunkSize} {
		_, err := s.Put(ctx, "a", bytes.NewReader(large(size)), backing.PutOptions{})
		must(t, err)
		rows, err := s.pool.Query(ctx, "EXPLAIN (ANALYZE) "+openSQL, smallMax, []byte{}, []byte("a"), true, id{})
		must(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		looked := slices.ContainsFunc(plan, func(line string) bool {
			return strings.Contains(line, "ctxfs_chunks") && !strings.Contains(line, "never executed")
		})
		if small := size <= smallMax; looked != small {
			t.Errorf("to open %d bytes the server looks at the chunks: %v\n%s", size, looked, strings.Join(plan, "\n"))
		}
	}
}

func TestManyAppendsMakeFewChunks(t *testing.T) {
	s := closing(t, openStore(t, pgtest.Schema(t), Options{}))
	var want strings.Builder
	for i := range 300 {
		line := fmt.Sprintf("line %090d\n", i)
		want.WriteString(line)
		_, err := s.Append(context.Background(), "log", []byte(line))
		must(t, err)
	}
	if n := chunks(t, s); read(t, s, "log") != want.String() || n > 2*want.Len()/tailMax {
		t.Fatalf("%d chunks of %d bytes", n, want.Len())
	}
}
