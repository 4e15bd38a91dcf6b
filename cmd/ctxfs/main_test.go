package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the command, and the small programs of programs_test.go, of
// the test binary itself, so that the race detector watches the daemon too.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ctxfs":            main,
		"mount.fuse.ctxfs": main,
		"go-writefile":     goWriteFile,
		"try-names":        tryHostileNames,
		"no-controls":      noControls,
		"go-renameio":      goRenameio,
		"probe-fork":       probeFork,
		"renamed-away":     renamedAway,
		"notify-socket":    notifySocket,
		"access-suite":     accessSuite,
		"user-matrix":      userMatrix,
		"mcp-suite":        mcpSuite,
		"mcp-across":       mcpAcross,
	})
}
