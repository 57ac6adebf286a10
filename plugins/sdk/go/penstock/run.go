// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Runner writes the answer itself, as a program: it opens branches, which are lists of tokens that
// the model can continue, waits for the model's rows after them, and shows tokens to the client. It
// has none of the methods that are called for a token. The manifest's Branches says how many
// branches it has at once.
type Runner interface {
	// Run is called once. When it returns, the answer is what was shown; an error refuses the
	// request.
	Run(r *Run) error
}

// Errors of a program; Run.Err gives the first.
var (
	ErrNoBranch    = errors.New("no branch is free: the plugin's manifest says how many there may be")
	ErrContextFull = errors.New("the context is full")
	ErrBudget      = errors.New("the program has put as many tokens into branches as it may")
	ErrNoToken     = errors.New("no token is possible after the branch")
)

// ErrRefused means that the host refuses what it was given: Err says why, and wraps this one.
var ErrRefused = errors.New("the host refuses it")

// Run is the request of a program. The first error stays: from then on branches are empty, waits
// return nothing, and Err returns it.
type Run struct {
	err  error
	list []int32
}

// Err is the first error, or nil.
func (r *Run) Err() error { return r.err }

// MaxTokens is the maximum number of tokens in the answer: the client's limit, or the room that
// there is if that is less.
func (r *Run) MaxTokens() int {
	room := int(abi.Param(abi.ParamContextSize) - abi.Param(abi.ParamPromptTokens))
	if most := int(abi.Param(abi.ParamMaxTokens)); most > 0 && most < room {
		return most
	}
	return max(room, 0)
}

// Ends reports whether a token ends generation.
func (r *Run) Ends(t Token) bool { return AttributesOf(t)&AttrEnd != 0 }

// Prompt opens a branch with the request's prompt.
func (r *Run) Prompt() *Branch { return r.branch(func() int32 { return abi.BranchOpen(nil, 0) }) }

// Open opens a branch with tokens of the plugin's own, at least one.
func (r *Run) Open(tokens ...Token) *Branch {
	if len(tokens) == 0 {
		return r.Prompt()
	}
	return r.branch(func() int32 { return abi.BranchOpen(unsafe.Pointer(&tokens[0]), int32(len(tokens))) })
}

// OpenMessages opens a branch with the prompt that the model's template makes from messages, a JSON
// list, after which the assistant answers.
func (r *Run) OpenMessages(messages string) *Branch {
	return r.branch(func() int32 {
		return abi.BranchOpenMessages(unsafe.Pointer(unsafe.StringData(messages)), int32(len(messages)))
	})
}

func (r *Run) branch(open func() int32) *Branch {
	b := &Branch{run: r, handle: -1}
	if r.err == nil {
		b.handle = r.check(open())
	}
	return b
}

// check records an answer that is an error.
func (r *Run) check(answer int32) int32 {
	switch answer {
	case abi.BranchNoneFree:
		r.err = ErrNoBranch
	case abi.BranchContextFull:
		r.err = ErrContextFull
	case abi.BranchBudget:
		r.err = ErrBudget
	case abi.BranchNoToken:
		r.err = ErrNoToken
	case abi.BranchCannot, abi.BranchRefused:
		r.err = refusal(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.BranchReason(p, limit) }))
	}
	return answer
}

// refusal is an ErrRefused with its reason.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// Is makes it an ErrRefused.
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Wait waits until the model has computed all of some branches; k is how many candidates Best will
// be asked for. What was shown is sent. It reports whether there was no error so far.
func (r *Run) Wait(k int, branches ...*Branch) bool {
	r.wait(k, 0, branches)
	return r.err == nil
}

// WaitAny waits until the model has computed any of some branches, and returns those that are
// ready. Which are ready first depends on what else the server computes, and not on the seed: an
// answer that depends on it is not the same each time.
func (r *Run) WaitAny(k int, branches ...*Branch) (ready []*Branch) {
	n := r.wait(k, abi.WaitAny, branches)
	for _, handle := range r.list[:n] {
		for _, b := range branches {
			if b.handle == handle {
				ready = append(ready, b)
				break
			}
		}
	}
	return ready
}

func (r *Run) wait(k int, flags int32, branches []*Branch) int32 {
	r.list = r.list[:0]
	if r.err != nil {
		return 0
	}
	for _, b := range branches {
		r.list = append(r.list, b.handle)
	}
	return max(0, r.check(abi.BranchesWait(unsafe.Pointer(unsafe.SliceData(r.list)), int32(len(r.list)), int32(k), flags)))
}

// Choices is how many answers the client asked for: the request's n. Show is for the first,
// ShowChoice for any.
func (r *Run) Choices() int { return max(1, int(abi.Param(abi.ParamChoices))) }

// Show shows tokens to the client. Stop strings, limits and end tokens end the answer and the
// program with it.
func (r *Run) Show(tokens ...Token) { r.ShowChoice(0, tokens, nil) }

// ShowScored is Show with the tokens' log-probabilities, for clients that ask for them.
func (r *Run) ShowScored(tokens []Token, logs []float32) { r.ShowChoice(0, tokens, logs) }

// ShowChoice shows tokens of one of the choices, with their log-probabilities or nil. It returns
// false if the choice has already ended.
func (r *Run) ShowChoice(choice int, tokens []Token, logs []float32) bool {
	if r.err != nil || len(tokens) == 0 {
		return r.err == nil
	}
	var scores unsafe.Pointer
	if len(logs) == len(tokens) {
		scores = unsafe.Pointer(&logs[0])
	}
	return abi.Show(int32(choice), unsafe.Pointer(&tokens[0]), scores, int32(len(tokens))) == 0
}

// Adopt lets a choice continue from a branch, as it is now, once Run has returned: as an answer
// without a program, with the request's samplers and other plugins. The first from tokens are its
// prompt, and the others are shown. If something of the choice was already shown, the branch must
// begin with the request's prompt, of length from, followed by what was shown.
func (r *Run) Adopt(choice int, b *Branch, from int) {
	if r.err == nil {
		abi.Adopt(int32(choice), b.handle, int32(from))
	}
}

// Chain is a sampler chain. Nil is the request's own.
type Chain struct{ handle int32 }

// Chain opens a sampler chain with the request's parameters, changed by those of a JSON object such
// as {"temperature": 1.2, "top_k": 40}. There may be up to 64.
func (r *Run) Chain(parameters string) *Chain {
	c := &Chain{}
	if r.err == nil {
		c.handle = r.check(abi.ChainOpen(unsafe.Pointer(unsafe.StringData(parameters)), int32(len(parameters))))
	}
	return c
}

func (c *Chain) number() int32 {
	if c == nil {
		return 0
	}
	return c.handle
}

func beginRun(value any) {
	guest.Run = nil
	if p, ok := value.(Runner); ok {
		guest.Run = func() int32 {
			if !Feature("branches") {
				return refuse(errors.New("this host runs no programs: it needs a newer one"))
			}
			r := &Run{}
			err := p.Run(r)
			if err == nil {
				err = r.err
			}
			return refuse(err)
		}
	}
}

// Select keeps the branches that indices name, in that order. A branch that is named several times
// is forked. Branches that are not named are closed first, so that forks take over their places and
// their cells. This is what a search does between two steps.
func (r *Run) Select(branches []*Branch, indices ...int) (selected []*Branch) {
	left := make([]int, len(branches))
	for _, i := range indices {
		left[i]++
	}
	for i, b := range branches {
		if left[i] == 0 {
			b.Close()
		}
	}
	for _, i := range indices {
		b := branches[i]
		if left[i]--; left[i] > 0 {
			b = b.Fork()
		}
		selected = append(selected, b)
	}
	return selected
}

// Config is the request's configuration for the plugin, like Request.Config.
func (r *Run) Config() json.Value {
	config, _ := json.Parse(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Config(p, limit) })) // the host has checked it
	return config
}
