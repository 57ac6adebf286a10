// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/bench"
	"github.com/penstock/penstock/host/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// benchServers are the servers that are measured: servers that run elsewhere, and child processes.
type benchServers struct {
	targets []bench.Target
	closers []func()
}

func (s *benchServers) close() {
	for _, c := range s.closers {
		c()
	}
}

// contextPerSlot is how many tokens a slot gets if there is a peer, whose own default differs.
const contextPerSlot = 4096

func openServers(ctx context.Context, cmd *cobra.Command, args []string, f benchFlags) (*benchServers, error) {
	s := &benchServers{}
	if f.url != "" {
		if len(args) > 0 {
			return nil, usageError{errors.New("--url and MODEL exclude each other: a running server has its model")}
		}
		s.add(f.url, f.url, f)
	} else if err := s.startOwn(ctx, cmd, args, f); err != nil {
		s.close()
		return nil, err
	}
	if f.plugins != "" {
		plain := s.targets[0]
		s.targets = append(s.targets, bench.Target{Name: plain.Name + " with plugins", Streamer: bench.WithPlugins(plain.Streamer, json.RawMessage(f.plugins)), OwnPrompts: true})
	}
	if f.against != "" {
		s.add(f.against, f.against, f)
	}
	return s, nil
}

func (s *benchServers) startOwn(ctx context.Context, cmd *cobra.Command, args []string, f benchFlags) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		cfg.Model.Path = args[0]
	}
	size := bench.Size{Slots: cfg.Scheduler.Slots, Context: cfg.Model.CtxSize, Threads: cfg.Model.Threads}
	if f.peer != "" {
		if _, err := os.Stat(cfg.Model.Path); err != nil {
			return usageError{fmt.Errorf("--peer needs MODEL to be a GGUF file: %w", err)}
		}
		size.Context = cmp.Or(size.Context, size.Slots*contextPerSlot)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f.modelName = ""
	if f.key, err = firstKey(cfg.Server); err != nil {
		return err
	}
	if err := s.start(ctx, "penstock", bench.Penstock(self, cfg.Model.Path, size, passedOn(cmd)...), f); err != nil {
		return err
	}
	if f.peer == "" {
		return nil
	}
	var projector []string
	if cfg.Model.MMProj != "" {
		projector = []string{"--mmproj", cfg.Model.MMProj}
	}
	f.protocol = "sse" // the only one that llama-server has
	return s.start(ctx, "llama-server", bench.LlamaServer(f.peer, cfg.Model.Path, size, projector...), f)
}

// firstKey is a key that opens the server; "" if it asks for none.
func firstKey(s config.Server) (string, error) {
	switch {
	case len(s.APIKeys) > 0:
		return s.APIKeys[0], nil
	case s.APIKeyFile == "":
		return "", nil
	}
	keys, err := access.ReadKeyFile(s.APIKeyFile)
	if err != nil {
		return "", err
	}
	return keys[0].Key, nil
}

// passedOn returns the given flags that are configuration keys, for the child process.
func passedOn(cmd *cobra.Command) []string {
	var args []string
	for _, key := range config.Keys() {
		flag := cmd.Flags().Lookup(key.Flag)
		if flag == nil || !flag.Changed || key.Name == "model.path" {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+key.Flag, value)
		}
	}
	if file := cmd.Flags().Lookup("config"); file.Changed {
		args = append(args, "--config", file.Value.String())
	}
	return args
}

func (s *benchServers) start(ctx context.Context, name string, c bench.Command, f benchFlags) error {
	p, err := bench.Start(ctx, c)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, p.Stop)
	s.add(name, p.URL, f)
	return nil
}

func (s *benchServers) add(name, url string, f benchFlags) {
	if f.protocol == "ws" {
		socket := bench.NewSocket(url)
		socket.Chat, socket.Model, socket.Key = f.endpoint == "chat", f.modelName, f.key
		s.targets, s.closers = append(s.targets, bench.Target{Name: name, Streamer: socket}), append(s.closers, socket.Close)
		return
	}
	h := bench.NewHTTP(url)
	h.Chat, h.Model, h.Key = f.endpoint == "chat", f.modelName, f.key
	s.targets, s.closers = append(s.targets, bench.Target{Name: name, Streamer: h}), append(s.closers, h.Close)
}
