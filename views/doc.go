// Package views is the room of directories of links below .ctxfs/views: the
// entries by tag, type, agent, session, by whether another entry supersedes
// them, and by what they link to.
//
//	tag/<tag>/<agent>__<entry>.md -> ../../../../<agent>/<entry>.md
//	backlinks/<agent>__<entry>.md/…  the entries that link to that one
//	superseded/{yes,no}/…
//
// Values that cannot be names of files are escaped (index.Escape). Everything
// here is answered from the index when it is asked for, after the index has
// followed what was committed before. Nothing can be changed.
//
// All methods are safe for concurrent use.
package views
