// Package live tries what ctxfs promises on mounts in use: the built command,
// its daemon a process of its own, and other processes at work on it.
//
//   - load_test.go: 64 processes that write, read, list and search at once;
//     lineage_test.go looks at what they have left.
//   - term_test.go: SIGTERM while they work.
//   - attack_test.go: directories of the store are swapped for symbolic links.
//   - posix_test.go: go-fuse's posixtest on ordinary files.
//   - suites_test.go: stress-ng and fio (full run only).
//   - database_test.go: SQLite, and killed processes (full run only).
//   - fsx_test.go: random operations against models of ordinary files,
//     variables (fsx_file_test.go) and entries (fsx_entry_test.go).
//
// docs/reliability.md says what is tried and what held. A bounded part runs in
// go test, the whole by scripts/torture (-live.full). The tests need root, and
// fail without; go test -short leaves them out.
package live
