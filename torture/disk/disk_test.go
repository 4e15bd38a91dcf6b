package disk

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(off int64, text string) Record { return Record{Write, off, []byte(text)} }

// TestStatesAreWhatADiskMayHaveKept goes through all states of a short record.
func TestStatesAreWhatADiskMayHaveKept(t *testing.T) {
	records := []Record{
		write(0, "a"), {Kind: Flush}, {Kind: Mark}, write(1, "b"), write(2, "c"), {Kind: Flush}, write(0, "d"), {Kind: Mark},
	}
	may := map[int]map[string]bool{ // by the number of records that came before
		3: {"a..": true}, 4: {"a..": true, "ab.": true}, 5: {"a..": true, "ab.": true, "a.c": true, "abc": true},
		6: {"abc": true}, 7: {"abc": true, "dbc": true}, 8: {"abc": true, "dbc": true},
	}
	got := map[int]map[string]bool{}
	b := NewBuilder([]byte("..."), records)
	for _, s := range States(records, 20, rand.New(rand.NewPCG(1, 1))) {
		content := make([]byte, 3)
		b.Build(content, s)
		if got[s.At] == nil {
			got[s.At] = map[string]bool{}
		}
		got[s.At][string(content)] = true
		if want := 1 + s.At/8; s.Marks != want {
			t.Errorf("%s: %d marks, not %d", s, s.Marks, want)
		}
	}
	if !reflect.DeepEqual(got, may) {
		t.Errorf("states are %v, not %v", got, may)
	}
}

func TestABlockIsTornBetweenSectors(t *testing.T) {
	old, next := strings.Repeat("o", 2*block), strings.Repeat("n", block)
	records := []Record{{Kind: Mark}, write(block, next), write(0, "first")}
	torn := map[string]bool{}
	for _, s := range States(records, 50, rand.New(rand.NewPCG(1, 1))) {
		content := make([]byte, 2*block)
		NewBuilder([]byte(old), records).Build(content, s)
		for i := block; i < 2*block; i += sector {
			if part := string(content[i : i+sector]); part != next[:sector] && part != old[:sector] {
				t.Fatalf("%s: a sector is torn", s)
			}
		}
		if second := string(content[block:]); second != next && second != old[:block] {
			torn[second] = true
			if !s.Torn() {
				t.Errorf("%s: it is torn and does not say so", s)
			}
		}
	}
	if len(torn) < 2 {
		t.Errorf("a block is torn in %d ways", len(torn))
	}
}

func TestTheLogComesBackAsItWasWritten(t *testing.T) {
	records := []Record{write(7, "seven"), {Kind: Flush, Data: []byte{}}, {Kind: Mark, Data: []byte("m")}}
	name := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := r.writeTo(f); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadLog(name); err != nil || !reflect.DeepEqual(got, records) {
		t.Errorf("%v, %v", got, err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(info.Size() - 1); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadLog(name); err == nil {
		t.Errorf("a log that was cut off gives %v", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAWriteIsCutIntoBlocks(t *testing.T) {
	long := Record{Write, block, make([]byte, 2*block+1)}
	got := Split([]Record{{Kind: Flush}, long})
	if len(got) != 4 || got[3].Offset != 3*block || len(got[3].Data) != 1 || len(got[1].Data) != block {
		t.Errorf("%d pieces", len(got))
	}
}
