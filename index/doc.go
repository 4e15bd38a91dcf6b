// Package index finds entries: by words, phrases and prefixes, by regular
// expressions, by agent, session, type, tag, time and links. It also answers
// for the directories of links below .ctxfs/views.
//
// # Derived
//
// The index is one SQLite file. Nothing else reads it to read or write an
// entry: where it is missing, damaged or of another layout it is made anew, in
// the background, while the mount serves. It holds no text of entries, only
// which words stand where; what a search shows is read from the entries. It is
// written without fsync; one that a power cut may have torn is made anew.
//
// # Following
//
// [Open] compares the revisions of all entries with those in the index, by
// listing directories, and reads what differs. From then on it follows what
// the room reports. A commit never waits for the index: it is queued, gathered
// with what follows it for up to half a second, and indexed by a goroutine of
// the index. Who asks waits instead, until what was committed before the
// question has been dealt with, which ends the gathering, for at most
// [Patience].
//
// One process writes the file, the one that has the store's lock. Others read
// it beside that one ([OpenReader]), which is why it is in WAL mode.
//
// # Words
//
// A word is a run of letters and digits, without case and accents; characters
// of scripts that are written without spaces are words of their own. The text
// is cut into words here and not by SQLite, so that a regular expression can
// be narrowed down to entries by the same words: of `verflow\s+check` an entry
// must hold a word that ends in "verflow" and one that begins with "check".
// Which words contain three or more given letters is answered by a second,
// small index over all distinct words. What passes is then read and matched.
//
// # Speed
//
// Entries are numbered by the time in their names, so that FTS5 gives the
// newest ones first and stops when there are enough. Agents, sessions, types,
// tags and links are words of the index too: it goes through no entry that a
// filter excludes. Words that more than a few hundred entries hold are not
// ranked: the newest entries with all of them in name, tags or title come
// first, then the newest. Where another word of the query is rarer, that one
// ranks.
//
// # Concurrency
//
// All methods are safe for concurrent use. Index.mu serialises writes; it is
// never held while a caller of Search or of a view is answered from the file.
//
// # What it must not know
//
// The mount, the command line, how a commit happens.
package index
