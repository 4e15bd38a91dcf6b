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
}

func (s State) String() string {
	return fmt.Sprintf("power lost after record %d, with %s", s.At, s.How)
}

// block is what a disk writes in one piece, in bytes.
const block = 4096

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
// on: each prefix, none and only the last of the unflushed writes at each, and
// subsets random ones more.
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
		all = append(all, State{At: i + 1, How: "all writes", Marks: marks})
		if open == 0 || r.Kind == Flush {
			continue
		}
		all = append(all, State{i + 1, "no unflushed write", marks, make([]bool, open)})
		if r.Kind == Mark || open == 1 {
			continue
		}
		last := make([]bool, open)
		last[open-1] = true
		all = append(all, State{i + 1, "only the last unflushed write", marks, last})
		for range subsets {
			some := make([]bool, open)
			for j := range some {
				some[j] = rng.IntN(2) == 0
			}
			all = append(all, State{i + 1, "some of the unflushed writes", marks, some})
		}
	}
	return all
}

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
			r.apply(disk)
		}
		n++
	}
}

func (r Record) apply(disk []byte) {
	if r.Kind == Write {
		copy(disk[r.Offset:], r.Data)
	}
}
