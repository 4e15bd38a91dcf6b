package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Kind says what a Record is.
type Kind byte

const (
	Write Kind = 'W' // Data was written at Offset
	Flush Kind = 'F' // everything before is on the disk
	Mark  Kind = 'M' // not from the disk: the writer said Data at this point
)

// Record is one thing that happened to the disk.
type Record struct {
	Kind   Kind
	Offset int64 // bytes
	Data   []byte
}

const headSize = 17

func (r Record) writeTo(w io.Writer) error {
	head := make([]byte, headSize, headSize+len(r.Data))
	head[0] = byte(r.Kind)
	binary.LittleEndian.PutUint64(head[1:], uint64(r.Offset))
	binary.LittleEndian.PutUint64(head[9:], uint64(len(r.Data)))
	_, err := w.Write(append(head, r.Data...))
	return err
}

// ReadLog reads the records that a recorder has written to the file.
func ReadLog(name string) ([]Record, error) {
	all, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the record of a disk: %w", err)
	}
	var records []Record
	for len(all) > 0 {
		if len(all) < headSize {
			return nil, errors.New("the record of a disk is cut off")
		}
		n := binary.LittleEndian.Uint64(all[9:])
		r := Record{Kind: Kind(all[0]), Offset: int64(binary.LittleEndian.Uint64(all[1:]))}
		all = all[headSize:]
		if uint64(len(all)) < n {
			return nil, errors.New("the record of a disk is cut off")
		}
		r.Data, all = all[:n], all[n:]
		records = append(records, r)
	}
	return records, nil
}
