package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ctxfs/codec"
)

// config is what ctxfs reads of the configuration file that it shares with
// the agents.
type config struct {
	ContextStore struct {
		Path string `json:"path"`
	} `json:"contextStore"`
	Agents map[string]struct {
		ContextRetention *string `json:"contextRetention"`
	} `json:"agents"`
}

// readConfig reads the configuration: the file named, $SFA_CONFIG, or the
// default one below home. Only a file that was named must exist. file is where
// it is, "" where there can be none.
func readConfig(home, named string) (c config, file string, err error) {
	file = tilde(named, home)
	if named == "" {
		if home == "" {
			return c, "", nil
		}
		file = filepath.Join(home, defaultConfig)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		return c, file, nil
	}
	if err != nil {
		return c, file, fmt.Errorf("read the configuration: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, file, fmt.Errorf("the configuration %s is not what ctxfs reads: %w", file, err)
	}
	return c, file, nil
}

// configuredRetentions is how long each agent's files are kept: its
// contextRetention, else 30 days.
func configuredRetentions(getenv func(string) string) (codec.Retentions, error) {
	r := codec.Retentions{Default: codec.DefaultRetention, Agents: map[string]codec.Retention{}}
	c, file, err := readConfig(getenv("HOME"), getenv("SFA_CONFIG"))
	if err != nil {
		return r, err
	}
	for agent, of := range c.Agents {
		if of.ContextRetention == nil {
			continue
		}
		keep, err := codec.ParseRetention(*of.ContextRetention)
		if err == nil && keep == 0 {
			err = errors.New("nothing would be kept at all; write never to keep everything, or a time as 30d")
		}
		if err != nil {
			return r, fmt.Errorf("agents.%s.contextRetention in %s: %w", agent, file, err)
		}
		r.Agents[agent] = keep
	}
	return r, nil
}
