// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [MODEL]",
		Short: "Measure throughput and latency of this machine, or of a running server",
		Long: `Measure throughput and latency: of this machine with MODEL (or the built-in model), or of any
server that speaks OpenAI's API. A second server, or the same with plugins, takes turns with it.

Scenarios: single (one stream alone), batch (8 streams at once), mixed (4 streams while 2 clients
send long prompts), pictures (4 streams while 2 clients send new pictures; MODEL sees). A flag of the load, such as --clients or --rate, replaces them by one of your own.

  penstock bench model.gguf
  penstock bench --url http://127.0.0.1:8080 --clients 16 --prompt-words 200 --duration 30s
  penstock bench model.gguf --peer llama-server --scenario mixed
  penstock bench model.gguf --scenario batch --rounds 5 --plugins '[{"name": "min-p"}]'`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runBench(cmd, args, f) },
	}
	addConfigFlags(cmd, "model", "scheduler", "plugins")
	f.define(cmd.Flags())
	return cmd
}

// runBench runs all scenarios on all servers and prints the results.
func runBench(cmd *cobra.Command, args []string, f benchFlags) error {
	scenarios, err := f.chooseScenarios(cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	ctx, release := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("not done within --limit %v", f.limit))
	defer release()
	servers, err := openServers(ctx, cmd, args, f)
	if err != nil {
		return err
	}
	defer servers.close()
	var runs []bench.Measured
	for _, s := range scenarios {
		measured, err := bench.Alternate(ctx, servers.targets, s, f.rounds, func(m bench.Measured) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s, round %d: %.1f s, %.1f tokens/s\n", m.Scenario, m.Target, m.Round, m.Seconds, m.Total.TokensPerSecond)
		})
		if err != nil {
			return err
		}
		runs = append(runs, measured...)
	}
	return f.print(cmd, bench.NewReport(bench.ThisMachine(), scenarios, runs))
}

// print writes the report in the requested form. The command fails if requests failed.
func (f benchFlags) print(cmd *cobra.Command, r bench.Report) error {
	if f.out != "" {
		var text bytes.Buffer
		if err := r.WriteJSON(&text); err != nil {
			return err
		}
		if err := os.WriteFile(f.out, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	write := r.WriteTable
	if f.json {
		write = r.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	for _, m := range r.Runs {
		if m.Total.Failed > 0 {
			return fmt.Errorf("%d of %d requests of %s failed on %s, such as: %s", m.Total.Failed, m.Total.Requests, m.Scenario, m.Target, m.Total.Error)
		}
	}
	return nil
}

// benchFlags are the flags of `bench` that are not configuration keys.
type benchFlags struct {
	url, against, peer      string
	protocol, endpoint      string
	modelName, key          string
	scenarios               []string
	rounds, longWords, side int
	seed                    uint64
	limit, warmup, duration time.Duration
	temperature             float64
	json                    bool
	out, plugins            string
	class                   bench.Class
}

// loadFlags describe a load that the user defines.
var loadFlags = []string{"clients", "rate", "requests", "think", "prompt-words", "shared-words", "max-tokens", "warmup", "duration", "temperature"}

func (f *benchFlags) define(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "url", "", "measure the server at this URL instead of this machine's own")
	fs.StringVar(&f.against, "against", "", "take turns with the server at this URL, and compare")
	fs.StringVar(&f.peer, "peer", "", "take turns with this llama-server (a program), given the same model, slots, context and threads, and compare")
	fs.StringVar(&f.protocol, "protocol", "sse", "how answers are streamed: sse, or ws for Penstock's WebSocket")
	fs.StringVar(&f.endpoint, "endpoint", "completions", "completions, or chat")
	fs.StringVar(&f.modelName, "model-name", "", "model that requests to --url and --against name")
	fs.StringVar(&f.key, "key", "", "API key that is sent to --url and --against")
	fs.StringVar(&f.plugins, "plugins", "", `take turns with requests that have plugins, and compare: the field's value, such as '[{"name": "min-p"}]'`)
	fs.StringSliceVar(&f.scenarios, "scenario", []string{"single", "batch", "mixed"}, "what to run")
	fs.IntVar(&f.rounds, "rounds", 1, "how often each scenario is run on each server; medians are shown")
	fs.IntVar(&f.longWords, "long-words", bench.LongWords, "words of the long prompts of the mixed scenario")
	fs.IntVar(&f.side, "picture-side", bench.PictureSide, "pixels a side of the pictures of the pictures scenario")
	fs.Uint64Var(&f.seed, "seed", uint64(time.Now().UnixNano()), "start of the random words and arrivals")
	fs.Lookup("seed").DefValue = "the time"
	fs.DurationVar(&f.limit, "limit", 10*time.Minute, "longest time for all")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.StringVar(&f.out, "out", "", "write the JSON to this file, too")

	fs.IntVar(&f.class.Clients, "clients", 1, "load: clients that each send the next request when the last has ended")
	fs.Float64Var(&f.class.Rate, "rate", 0, "load: requests a second, at random times, instead of clients")
	fs.IntVar(&f.class.Requests, "requests", 0, "load: requests in all; 0: as many as the duration holds")
	fs.DurationVar(&f.class.Think, "think", 0, "load: pause of a client between two requests")
	fs.IntVar(&f.class.PromptWords, "prompt-words", bench.ShortWords, "load: words of a prompt")
	fs.IntVar(&f.class.SharedWords, "shared-words", 0, "load: of these, words that all prompts begin with")
	fs.IntVar(&f.class.MaxTokens, "max-tokens", 64, "load: tokens of an answer")
	fs.DurationVar(&f.warmup, "warmup", 2*time.Second, "load: time before measuring begins")
	fs.DurationVar(&f.duration, "duration", 20*time.Second, "load: time that is measured; with --requests alone, until they have ended")
	fs.Float64Var(&f.temperature, "temperature", bench.Temperature, "load: temperature of sampling")
}

// mixedFor is how long the mixed scenario is measured.
const mixedFor = 20 * time.Second

// chooseScenarios checks the flags and returns the scenarios to run.
func (f *benchFlags) chooseScenarios(fs *pflag.FlagSet) ([]bench.Scenario, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(loadFlags, fs.Changed) {
		s, err := f.buildLoad(fs)
		return []bench.Scenario{s}, err
	}
	var scenarios []bench.Scenario
	for i, name := range f.scenarios {
		seed := f.seed + uint64(i)
		switch name {
		case "single":
			scenarios = append(scenarios, bench.Single(seed, 2))
		case "batch":
			scenarios = append(scenarios, bench.Batch(seed, name, 8))
		case "mixed":
			scenarios = append(scenarios, bench.Mixed(seed, name, 4, 2, f.longWords, mixedFor))
		case "pictures":
			scenarios = append(scenarios, bench.Pictures(seed, name, 4, 2, f.side, mixedFor))
		default:
			return nil, fmt.Errorf("--scenario %q is not known; there are single, batch, mixed and pictures", name)
		}
		if err := scenarios[i].Load.Validate(); err != nil {
			return nil, err
		}
	}
	return scenarios, nil
}

func (f *benchFlags) buildLoad(fs *pflag.FlagSet) (bench.Scenario, error) {
	if fs.Changed("scenario") {
		return bench.Scenario{}, errors.New("--scenario and flags of a load of your own exclude each other")
	}
	c := f.class
	c.Name = "client"
	if c.Rate != 0 && !fs.Changed("clients") {
		c.Clients = 0
	}
	load := bench.Load{Classes: []bench.Class{c}, Seed: f.seed, Temperature: f.temperature, Warmup: f.warmup, Duration: f.duration, Limit: f.limit}
	if c.Requests > 0 && !fs.Changed("duration") {
		load.Warmup, load.Duration = 0, 0
	}
	return bench.Scenario{Name: "load", Load: load}, load.Validate()
}

func (f *benchFlags) check() error {
	switch {
	case f.protocol != "sse" && f.protocol != "ws":
		return fmt.Errorf("--protocol is %q; it must be sse or ws", f.protocol)
	case f.endpoint != "completions" && f.endpoint != "chat":
		return fmt.Errorf("--endpoint is %q; it must be completions or chat", f.endpoint)
	case f.rounds < 1 || f.rounds > 1000:
		return fmt.Errorf("--rounds is %d; it must be 1 to 1000", f.rounds)
	case f.limit <= 0:
		return fmt.Errorf("--limit is %v; it must be more than 0", f.limit)
	case f.against != "" && f.peer != "":
		return errors.New("--against and --peer exclude each other")
	case f.plugins != "" && !isList(f.plugins):
		return fmt.Errorf("--plugins is %q; it must be a JSON list, such as [{\"name\": \"min-p\"}]", f.plugins)
	case f.peer != "" && f.url != "":
		return errors.New("--peer and --url exclude each other: a peer gets the model that this machine serves")
	}
	return nil
}

func isList(text string) bool {
	var list []any
	return json.Unmarshal([]byte(text), &list) == nil && list != nil
}

// benchServers are the servers that are measured: servers that run elsewhere, and child processes.
type benchServers struct {
	targets []bench.Target
	closers []func()
}

func (s *benchServers) close() {
	for _, c := range slices.Backward(s.closers) { // connections before their server, which waits for them
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
		with := bench.With(plain.Streamer, func(r *bench.Request) { r.Plugins = json.RawMessage(f.plugins) })
		s.targets = append(s.targets, bench.Target{Name: plain.Name + " with plugins", Streamer: with, OwnPrompts: true})
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
	if f.key, err = readFirstKey(cfg.Server); err != nil {
		return err
	}
	if err := s.start(ctx, "penstock", bench.Penstock(self, cfg.Model.Path, size, collectPassedFlags(cmd)...), f); err != nil {
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

// readFirstKey returns a key that the server accepts; "" if it asks for none.
func readFirstKey(s config.Server) (string, error) {
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

// collectPassedFlags returns those of the given flags that are configuration keys, for the child
// process.
func collectPassedFlags(cmd *cobra.Command) []string {
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
	h := bench.NewHTTP(url)
	h.Chat, h.Model, h.Key = f.endpoint == "chat", f.modelName, f.key
	target, end := bench.Streamer(h), h.Close
	if f.protocol == "ws" {
		socket := bench.NewSocket(h)
		target, end = socket, socket.Close
	}
	s.targets, s.closers = append(s.targets, bench.Target{Name: name, Streamer: target}), append(s.closers, end)
}
