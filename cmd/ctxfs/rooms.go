package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/spf13/pflag"

	"ctxfs/access"
	"ctxfs/backing"
	"ctxfs/invocations"
	"ctxfs/memories"
	"ctxfs/results"
	"ctxfs/room"
	"ctxfs/variables"
)

// roomFlags are the flags of the rooms beside the entries.
type roomFlags struct {
	varsMemory    int64 // MiB
	summarizer    string
	summarizerURL string
	summaryModel  string
	memoryBackend string
	memoryVault   string
}

func (r *roomFlags) add(flags *pflag.FlagSet) {
	flags.Int64Var(&r.varsMemory, "vars-memory", variables.DefaultMemoryCeiling>>20, "how much memory session variables may take, in `MiB`; the least recently used go to disk beyond")
	flags.StringVar(&r.summarizer, "summarizer", "", "a shell `command` that summarizes a variable: content on stdin, limit in $"+variables.SummaryTokensEnv)
	flags.StringVar(&r.summarizerURL, "summarizer-url", "", "a `URL` of OpenAI's chat completions that summarizes; the key is taken from $CTXFS_SUMMARIZER_KEY")
	flags.StringVar(&r.summaryModel, "summarizer-model", "", "the `model` to name to --summarizer-url")
	flags.StringVar(&r.memoryBackend, "memory-backend", "", "a `URL` to which entries of memories are POSTed; {vault} and {memory} in it are replaced")
	flags.StringVar(&r.memoryVault, "memory-vault", memories.DefaultVault, "what stands for {vault} in --memory-backend")
}

func (r *roomFlags) summarizerOf(getenv func(string) string) (variables.Summarizer, error) {
	switch {
	case r.summarizer != "" && r.summarizerURL != "":
		return nil, usageError{errors.New("--summarizer and --summarizer-url exclude each other")}
	case r.summarizer != "":
		return variables.Command{Line: r.summarizer}, nil
	case r.summarizerURL != "":
		return variables.Endpoint{URL: r.summarizerURL, Model: r.summaryModel, Key: getenv("CTXFS_SUMMARIZER_KEY")}, nil
	}
	return nil, nil
}

// roomSet is the rooms of one store beside the entries.
type roomSet struct {
	vars    *variables.Variables
	results *results.Results
	mems    *memories.Memories
	history *invocations.History
}

// openRooms opens them; what was opened is closed where one fails.
func openRooms(f roomFlags, store backing.Store, journal *room.Journal, log *slog.Logger, getenv func(string) string) (_ *roomSet, err error) {
	r := &roomSet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	summarizer, err := f.summarizerOf(getenv)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if r.vars, err = variables.New(store, variables.Options{MemoryCeiling: f.varsMemory << 20, Log: log, Journal: journal, Summarizer: summarizer}); err != nil {
		return nil, err
	}
	if r.results, err = results.Open(ctx, store, results.Options{Log: log, Journal: journal}); err != nil {
		return nil, err
	}
	if r.history, err = invocations.Open(ctx, store, invocations.Options{Log: log, Journal: journal}); err != nil {
		return nil, err
	}
	r.mems, err = memories.Open(store, memories.Options{Own: access.MemoriesIn(getenv("CONTEXT_DATA_DIR"), log),
		Backend: f.memoryBackend, Vault: f.memoryVault, Log: log, Journal: journal})
	return r, err
}

// byName is where the rooms stand in the mount.
func (r *roomSet) byName() map[string]room.Room {
	return map[string]room.Room{
		"vars":        r.vars.Room(),
		"results":     r.results.Room(),
		"memories":    r.mems,
		"invocations": r.history.Room(),
	}
}

// status is the rooms' part of .ctxfs/stats.
func (r *roomSet) status() map[string]any {
	ctx := context.Background()
	s := map[string]any{"results": r.results.Status()}
	put := func(name string, status any, err error) {
		if err != nil {
			status = map[string]string{"error": err.Error()}
		}
		s[name] = status
	}
	vars, err := r.vars.Status(ctx)
	put("vars", vars, err)
	n, err := countAll(ctx, r.mems)
	put("memories", memoriesStatus{r.mems.Status(), n}, err)
	history, err := r.history.Room().Stat(ctx, historyName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing was recorded yet
	}
	put("invocations", invocationsStatus{history.Size}, err)
	return s
}

// memoriesStatus and invocationsStatus are in .ctxfs/stats.
type memoriesStatus struct {
	memories.Status
	Memories int `json:"memories"`
}

type invocationsStatus struct {
	Bytes int64 `json:"bytes"`
}

// historyName is the file of the invocations, in their room.
const historyName = "context.jsonl"

// countAll counts what is in a room's uppermost directory.
func countAll(ctx context.Context, r room.Room) (n int, err error) {
	const page = 1000
	for after := ""; ; {
		infos, err := r.List(ctx, "", after, page)
		if err != nil {
			return n, fmt.Errorf("count: %w", err)
		}
		n += len(infos)
		if len(infos) < page {
			return n, nil
		}
		after = infos[len(infos)-1].Name
	}
}

func (r *roomSet) close() error {
	var errs []error
	if r.mems != nil {
		errs = append(errs, r.mems.Close())
	}
	if r.history != nil {
		errs = append(errs, r.history.Close())
	}
	if r.results != nil {
		errs = append(errs, r.results.Close())
	}
	if r.vars != nil {
		errs = append(errs, r.vars.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the rooms: %w", err)
	}
	return nil
}
