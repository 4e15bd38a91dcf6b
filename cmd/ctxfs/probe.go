package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// probeWait is how long a mount may take to answer before it counts as hung.
const probeWait = 10 * time.Second

// state is how a mount answers.
type state string

const (
	serving state = "serving"
	stale   state = "stale: its daemon is gone"
	hung    state = "not answering"
	foreign state = "of another user"
)

// stats is what probe needs of .ctxfs/stats; Raw is all of it.
type stats struct {
	PID   int             `json:"pid"`
	Store string          `json:"store"`
	Raw   json.RawMessage `json:"-"`
}

// newProbe is the hidden command that reads a file of .ctxfs in a mount. It is a
// process of its own, because a request that a hung daemon has taken holds the
// asking process until the connection ends: not even a signal ends it.
func newProbe() *cobra.Command {
	return &cobra.Command{
		Use:    "probe MOUNTPOINT FILE",
		Hidden: true,
		Args:   args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error {
			text, err := os.ReadFile(a[0] + "/.ctxfs/" + a[1])
			if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
				_, err := fmt.Fprint(cmd.OutOrStdout(), stale)
				return err
			}
			if errors.Is(err, unix.EACCES) {
				_, err := fmt.Fprint(cmd.OutOrStdout(), foreign)
				return err
			}
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

// probe asks the mount at point for its stats, for at most probeWait. Whatever
// comes of that is a state, so that one odd mount does not hide the others.
func probe(point string) (stats, state) {
	text, err := ask(point, "stats")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return stats{}, hung
	}
	if err != nil {
		return stats{}, state(fmt.Sprintf("cannot be asked: %v", err))
	}
	if s := state(text); s == stale || s == foreign {
		return stats{}, s
	}
	s := stats{Raw: text}
	if err := json.Unmarshal(text, &s); err != nil {
		return stats{}, state(fmt.Sprintf("gives no stats that can be read: %v", err))
	}
	return s, serving
}

// ask runs the probe command for a file of .ctxfs; a mount that does not answer is
// os.ErrDeadlineExceeded.
func ask(point, file string) ([]byte, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command("/proc/self/exe", "probe", "--", point, file)
	cmd.Args[0] = "ctxfs"
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, err
	}
	text, err := readUntilEnd(out, probeWait)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// Left behind on purpose: it ends when the request does.
		_ = cmd.Process.Kill()
		return nil, err
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(text))
	}
	return text, nil
}

func readUntilEnd(f *os.File, limit time.Duration) ([]byte, error) {
	if err := f.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := b.ReadFrom(f)
	return b.Bytes(), err
}
