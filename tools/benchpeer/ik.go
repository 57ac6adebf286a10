// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// ik is the server of ik_llama.cpp, whose kernels for CPUs are others than llama.cpp's.
const ik = "ik_llama.cpp"

// ikPart is the part of a run that compares with it.
const ikPart = "ik"

// ikModels are of the types of weights that people run on CPUs.
var ikModels = []quantisedModel{
	{"135m-q4_0", 64}, {"135m-q4_k_m", 64}, {"135m-iq4_xs", 64}, {"135m-q8_0", 64}, {"moe-q4_0", 64},
	{"1b-q4_0", 16}, {"1b-q4_k_m", 16}, {"1b-iq4_xs", 16}, {"1b-q8_0", 16},
}

// compareIK measures streams and prompts on both servers, in turns.
func (l *lab) compareIK() error {
	if l.ik == "" {
		return errors.New("-ik is not given: a llama-server of ik_llama.cpp")
	}
	whole := l.model
	defer func() { l.model = whole }()
	models := ikModels
	if len(l.chosen) > 0 {
		models = nil
		for _, name := range l.chosen {
			q := quantisedModel{name, 64}
			if i := slices.IndexFunc(ikModels, func(m quantisedModel) bool { return m.name == name }); i >= 0 {
				q = ikModels[i]
			}
			models = append(models, q)
		}
	}
	for _, m := range models {
		l.model = filepath.Join(l.models, m.name+".gguf")
		if err := l.besideIK(m); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) besideIK(m quantisedModel) error {
	targets, err := l.targets(l.one(), penstock, ik)
	if err != nil {
		return err
	}
	prompt := m.name + ", prompt of 600 words"
	scenarios := []bench.Scenario{{Name: prompt, Load: bench.Load{Seed: seedIK, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: 1, Requests: 2, PromptWords: mixedWords, MaxTokens: 1}}}}}
	for _, n := range []int{1, 8, 16} {
		s := bench.Batch(uint64(seedIK+100*n), m.name+", "+streamsOf(n), n)
		s.Load.Classes[0].MaxTokens = m.tokens
		scenarios = append(scenarios, s)
	}
	err = l.repeat(2*time.Minute, func(round int) error {
		for _, s := range scenarios {
			if err := l.round(targets, s, round); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		what, figure := ", tokens/s", tokensPerSecond
		if s.Name == prompt {
			what, figure = ", prompt tokens/s", promptTokensPerSecond
		}
		l.fasterThan(ik, s.Name+what, s.Name, figure, 1)
	}
	return nil
}
