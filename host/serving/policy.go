// SPDX-License-Identifier: MIT

package serving

import (
	"context"
	"errors"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Ends is what ends an answer besides its policy, and what else plugins are told of it.
type Ends struct {
	MaxTokens int // 0: as many as fit
	Stops     []string
	Time      time.Time                        // when the request came
	Choice    int                              // which of the answers to its prompt, from 0
	Choices   int                              // how many there are
	Parts     func() (*chat.PartTeller, error) // begins to follow the answer's parts
	// Media are the pictures and sounds of the prompt, a JSON list of media.Told; nil: there are
	// none.
	Media []byte
	// Chain and Prompt are for programs, nil for none: the parameters of a sampler chain, changed
	// by a JSON object, and the prompt that the model's template makes of messages.
	Chain  func(parameters []byte) (sampling.Params, error)
	Prompt func(ctx context.Context, messages []byte) ([]int32, error)
}

// Policy is what decides one answer: the stages that choose its tokens, and the rules that may end
// it.
type Policy struct {
	Stages []chain.Stage
	Rules  []answer.StopRule
	// Program writes the answer in place of the stages, which are told of it; nil: none does. That
	// of the first choice writes all.
	Program *program.Program
	// Renew builds the stages anew for other parameters of the running answer. Its plugins go on:
	// chain.Keep stands for them.
	Renew func(sampling.Params) ([]chain.Stage, error)
}

// Close frees a policy that no scheduler has taken.
func (p Policy) Close() error {
	var errs []error
	for _, s := range p.Stages {
		errs = append(errs, s.Close())
	}
	for _, r := range p.Rules {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
