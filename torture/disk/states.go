package disk

import (
	"fmt"
	"math/rand/v2"
)

// State is a content that a disk may have after a loss of power.
type State struct {
	At    int    // records before the loss
	How   string // which of the writes since the last flush are there
	Marks int    // Mark records before the loss
	keep  []bool // of the writes since the last flush, nil for all
	torn  tear   // one of them
}

// tear is a block that is on the disk in part.
type tear struct {
	write   int   // of those since the last flush
	sectors uint8 // a bit for each that is there; 0 where nothing is torn
}

func (s State) String() string {
	return fmt.Sprintf("power lost after record %d, with %s", s.At, s.How)
}

// block is what a disk mostly writes in one piece, and sector what it always
// does, in bytes.
const (
	block  = 4096
	sector = 512
)

// Split cuts the writes of records into blocks.
func Split(records []Record) []Record {
	var all []Record
	for _, r := range records {
		for r.Kind == Write && len(r.Data) > block {
			all = append(all, Record{Write, r.Offset, r.Data[:block]})
			r = Record{Write, r.Offset + block, r.Data[block:]}
		}
		all = append(all, r)
	}
	return all
}

// States returns states of a disk with these records, all from the first Mark
// on: each prefix, with its last block whole and torn, none and only the last
// of the unflushed writes at each, and subsets random ones more, some of them
// with a torn block.
func States(records []Record, subsets int, rng *rand.Rand) []State {
	var all []State
	marks, open := 0, 0
	for i, r := range records {
		switch r.Kind {
		case Mark:
			marks++
		case Write:
			open++
		case Flush:
			open = 0
		}
		if marks == 0 {
			continue
		}
		s := State{At: i + 1, How: "all writes", Marks: marks}
		all = append(all, s)
		if open == 0 || r.Kind == Flush {
			continue
		}
		s.How, s.keep = "no unflushed write", make([]bool, open)
		all = append(all, s)
		if r.Kind == Mark {
			continue
		}
		all = append(all, State{At: i + 1, How: "all writes, the last one torn", Marks: marks, torn: tears(open-1, rng)})
		if open == 1 {
			continue
		}
		s.How, s.keep = "only the last unflushed write", make([]bool, open)
		s.keep[open-1] = true
		all = append(all, s)
		for range subsets {
			all = append(all, s.some(open, rng))
		}
	}
	return all
}

// Flushed returns the states at each Mark with only what had been flushed:
// those that show a missing flush first.
func Flushed(records []Record) []State {
	var all []State
	open := 0
	for i, r := range records {
		switch r.Kind {
		case Write:
			open++
		case Flush:
			open = 0
		case Mark:
			all = append(all, State{At: i + 1, How: "no unflushed write", Marks: len(all) + 1, keep: make([]bool, open)})
		}
	}
	return all
}

// some is s with random ones of open unflushed writes.
func (s State) some(open int, rng *rand.Rand) State {
	s.How, s.keep = "some of the unflushed writes", make([]bool, open)
	for j := range s.keep {
		s.keep[j] = rng.IntN(2) == 0
	}
	if rng.IntN(2) == 0 {
		s.torn = tears(rng.IntN(open), rng)
		s.How += fmt.Sprintf(", number %d of them torn if it is there", s.torn.write+1)
	}
	return s
}

// tears is a tear of a write, of which at least one sector is there.
func tears(write int, rng *rand.Rand) tear {
	return tear{write: write, sectors: uint8(1 + rng.IntN(255))}
}

// Torn reports whether a block is there in part. Not every file system
// survives that itself.
func (s State) Torn() bool { return s.torn.sectors != 0 }

// Builder builds states in the order of their At.
type Builder struct {
	records []Record
	flushed []byte // the disk up to the last flush that is certain
	done    int    // records that are in flushed
}

// NewBuilder begins with the content of the disk before the first record.
func NewBuilder(content []byte, records []Record) *Builder {
	return &Builder{records: records, flushed: append([]byte(nil), content...)}
}

// Build writes the state to disk, which is as long as the content.
func (b *Builder) Build(disk []byte, s State) {
	last := b.done
	for i := b.done; i < s.At; i++ {
		if b.records[i].Kind == Flush {
			last = i + 1
		}
	}
	for ; b.done < last; b.done++ {
		b.records[b.done].apply(b.flushed)
	}
	copy(disk, b.flushed)
	n := 0
	for _, r := range b.records[last:s.At] {
		if r.Kind != Write {
			continue
		}
		if s.keep == nil || s.keep[n] {
			if s.torn.sectors != 0 && s.torn.write == n {
				r.applySectors(disk, s.torn.sectors)
			} else {
				r.apply(disk)
			}
		}
		n++
	}
}

func (r Record) apply(disk []byte) {
	if r.Kind == Write {
		copy(disk[r.Offset:], r.Data)
	}
}

// applySectors writes those of r, which is a block at most, whose bits are set.
func (r Record) applySectors(disk []byte, sectors uint8) {
	for i := 0; i*sector < len(r.Data); i++ {
		if sectors>>i&1 != 0 {
			from, to := i*sector, min((i+1)*sector, len(r.Data))
			copy(disk[r.Offset+int64(from):], r.Data[from:to])
		}
	}
}
