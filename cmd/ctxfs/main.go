// Command ctxfs mounts a context store as a file system for LLM agents, and
// looks after such mounts and stores. `ctxfs help` lists the subcommands;
// README.md shows a session.
package main

import "os"

// version is what `ctxfs --version` and .ctxfs/version say; releases set it
// with -ldflags "-X main.version=…".
var version = "dev"

// commit is what version was built from, also set by releases; other builds
// are stamped by the go command.
var commit = ""

func main() {
	os.Exit(run(asHelper(os.Args), os.Stdout, os.Stderr))
}
