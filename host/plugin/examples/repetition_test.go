// SPDX-License-Identifier: MIT

package examples

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

var errDiffers = errors.New("it came out differently")

// same is an error unless two things are equal.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%w: %s is %v, natively %v", errDiffers, what, got, want)
	}
	return nil
}

// outcome compares a text or a refusal with what the call had.
func (c call) outcome(text string, err error) error {
	var refusal *plugin.Refusal
	if errors.As(err, &refusal) {
		return errors.Join(same("refused", true, c.Refused), same("the reason", refusal.Message, c.Refusal))
	}
	return errors.Join(err, same("refused", false, c.Refused), same("the prompt", text, c.Text))
}

// repetition is a session under the host.
type repetition struct {
	stage   *stage.Stage
	history []int32
	prompt  int
	held    int // bytes of text since the stop rule last showed it
}

func (r *repetition) call(c call) error {
	switch c.Export {
	case abi.ExportOpen:
		return c.outcome("", r.stage.Reset(r.history, r.prompt))
	case abi.ExportPrepare:
		return r.prepare(c)
	case abi.ExportSample:
		return r.sample(c)
	case abi.ExportAccept:
		return r.accept(c)
	case abi.ExportRewind:
		r.history = r.history[:c.Token]
		return r.stage.Reset(r.history, r.prompt)
	case abi.ExportStop:
		return r.stop(c)
	}
	return fmt.Errorf("%w: a call that is not known", errDiffers)
}

func (r *repetition) prepare(c call) error {
	p, err := r.stage.Prepare()
	if err != nil {
		return err
	}
	forced := int32(-1)
	if p.Forced {
		forced = p.Token
	}
	bias := map[int32]float32{}
	for _, b := range p.Bias {
		bias[b.Token] += b.Value
	}
	if !slices.Equal(p.Mask, c.Mask) || !maps.Equal(bias, c.Bias) {
		return fmt.Errorf("%w: mask %v and bias %v, natively %v and %v", errDiffers, p.Mask, bias, c.Mask, c.Bias)
	}
	return same("the forced token", forced, c.Answer)
}

func (r *repetition) sample(c call) error {
	v := c.view()
	if err := r.stage.Apply(v); err != nil {
		return err
	}
	chosen := int32(-1)
	if c.Answer != abi.SampleEdited {
		chosen = c.Answer
	}
	if err := same("the token", v.Chosen, chosen); err != nil || c.Answer != abi.SampleEdited {
		return err
	}
	got, want := candidates(nil, v.Row), candidates(c.LeftIDs, c.LeftLogits)
	if v.N >= 0 {
		got = candidates(v.ID[:v.N], v.Logit[:v.N])
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%w: %v are left, natively %v", errDiffers, got, want)
	}
	return nil
}

// view is what the call was shown: candidates, or the whole row where it names none.
func (c call) view() *chain.View {
	if c.IDs == nil {
		return &chain.View{Row: slices.Clone(c.Logits), N: -1, Chosen: -1}
	}
	return &chain.View{ID: slices.Clone(c.IDs), Logit: slices.Clone(c.Logits), N: len(c.Logits), Chosen: -1}
}

// candidates are those above −inf. Without ids the logits are a whole row's.
func candidates(ids []int32, logits []float32) map[int32]float32 {
	left := map[int32]float32{}
	for i, l := range logits {
		t := int32(i)
		if ids != nil {
			t = ids[i]
		}
		if l >= -math.MaxFloat32 {
			left[t] = l
		}
	}
	return left
}

func (r *repetition) accept(c call) error {
	r.history = append(r.history, c.Token)
	effect, err := r.stage.Accept(c.Token)
	if err != nil {
		return err
	}
	code := int32(abi.AcceptContinue)
	switch {
	case effect.Splice:
		code = abi.AcceptSplice
	case effect.Stop:
		code = abi.AcceptStop
	}
	if !slices.Equal(effect.Tokens, c.Tokens) {
		return fmt.Errorf("%w: %v are inserted, natively %v", errDiffers, effect.Tokens, c.Tokens)
	}
	r.history = r.history[:len(r.history)-effect.Backtrack]
	for _, t := range c.Tokens {
		r.history = append(r.history, t)
		if _, err := r.stage.Accept(t); err != nil {
			return err
		}
	}
	return errors.Join(same("the answer", code, c.Answer), same("taken back", effect.Backtrack, c.Backtrack))
}

// stop compares what the host makes of the answer with what it means.
func (r *repetition) stop(c call) error {
	got, err := r.stage.Rule().Check(c.Token, c.Text)
	if err != nil {
		return err
	}
	r.held += len(c.Text)
	var want answer.Verdict
	switch c.Answer {
	case abi.StopShow:
		r.held = 0
	case abi.StopHold:
		want.Hold = true
	case abi.StopEnd:
		want = answer.Verdict{End: true, Show: r.held}
	case abi.StopHide:
		want = answer.Verdict{End: true}
	default:
		want = answer.Verdict{End: true, Show: int(-c.Answer - 1)}
	}
	return same("the verdict", got, want)
}
