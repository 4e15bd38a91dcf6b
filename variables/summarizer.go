package variables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Summarizer makes a summary with a model. Where it fails the built-in
// summary is used, so an error is only logged. Safe for concurrent use.
type Summarizer interface {
	// Summarize returns a summary of content, which is of type t, in about
	// maxTokens tokens; what is longer is cut.
	Summarize(ctx context.Context, t Type, content io.Reader, maxTokens int) (string, error)
}

const (
	// DefaultSummaryTimeout is how long a summarizer may take.
	DefaultSummaryTimeout = 30 * time.Second
	// DefaultSummaryInput is how much of a content it gets, in bytes.
	DefaultSummaryInput = 1 << 20
	// summaryOutput is how much of its answer is read, in bytes.
	summaryOutput = 1 << 20
	// SummaryTokensEnv tells a [Command] how long the summary may be.
	SummaryTokensEnv = "CTXFS_SUMMARY_TOKENS"
	// SummaryTypeEnv tells it the variable's type.
	SummaryTypeEnv = "CTXFS_SUMMARY_TYPE"
)

// Command is a [Summarizer] that is a shell command: the content on standard
// input, the summary on standard output.
type Command struct {
	Line     string        // for sh -c
	Env      []string      // its environment; nil is that of this process
	Timeout  time.Duration // 0 is DefaultSummaryTimeout
	MaxInput int64         // bytes; 0 is DefaultSummaryInput
}

// Summarize implements [Summarizer].
func (c Command) Summarize(ctx context.Context, t Type, content io.Reader, maxTokens int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, orElse(c.Timeout, DefaultSummaryTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Line)
	cmd.Env = c.Env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)],
		SummaryTokensEnv+"="+strconv.Itoa(maxTokens), SummaryTypeEnv+"="+string(t))
	cmd.Stdin = io.LimitReader(content, orElse(c.MaxInput, DefaultSummaryInput))
	out, complaint := &capped{max: summaryOutput}, &capped{max: 4096}
	cmd.Stdout, cmd.Stderr = out, complaint
	// What the shell started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil && !unread(err) {
		return "", fmt.Errorf("summarizer command: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	text := strings.TrimSpace(out.String())
	if text == "" {
		return "", errors.New("summarizer command: it said nothing")
	}
	return text, nil
}

// unread reports that the command succeeded without reading all of its input,
// as head(1) does.
func unread(err error) bool {
	var exit *exec.ExitError
	return errors.Is(err, syscall.EPIPE) && !errors.As(err, &exit)
}

// capped keeps the first max bytes and takes the rest. It is no more than a
// Writer, so that io.Copy cannot go around that.
type capped struct {
	kept []byte
	max  int
}

func (c *capped) Write(p []byte) (int, error) {
	if left := c.max - len(c.kept); left > 0 {
		c.kept = append(c.kept, p[:min(left, len(p))]...)
	}
	return len(p), nil
}

func (c *capped) String() string { return string(c.kept) }

func orElse[T comparable](given, otherwise T) T {
	var zero T
	if given == zero {
		return otherwise
	}
	return given
}
