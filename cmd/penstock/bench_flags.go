// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/host/bench"
	"github.com/spf13/pflag"
)

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

// chosen returns the scenarios to run.
func (f *benchFlags) chosen(fs *pflag.FlagSet) ([]bench.Scenario, error) {
	if err := f.check(fs); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(loadFlags, fs.Changed) {
		s, err := f.custom(fs)
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

func (f *benchFlags) custom(fs *pflag.FlagSet) (bench.Scenario, error) {
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

func (f *benchFlags) check(fs *pflag.FlagSet) error {
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
