package results

import (
	"crypto/sha256"
	"encoding/hex"
)

// hashDigits is how many hexadecimal digits of a SHA-256 stand in a query id
// and in the name of a saved result: 48 bits, so that ten thousand results of
// one tool in one session collide with a probability below one in a million.
const hashDigits = 12

// HashQuery returns the id of a query: "query-" and the first 12 hexadecimal
// digits, in lower case, of the SHA-256 of the query's bytes as they are. The
// same query has the same id everywhere and always (reference/2,
// hashQuery).
func HashQuery(query string) string {
	return "query-" + hashOf([]byte(query))
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashDigits]
}
