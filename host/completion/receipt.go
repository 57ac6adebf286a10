// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// draft is a receipt until all answers of its request have ended.
type draft struct {
	issuer *receipt.Issuer

	mu        sync.Mutex
	statement *receipt.Statement
	stated    int // choices
	signed    string
}

// beginReceipt begins a receipt if the request asks for one. The first one of a model takes as long
// as it takes to read its files.
func (p *Prompted) beginReceipt(ctx context.Context) error {
	if !p.Common.Receipt {
		return nil
	}
	issuer := p.Model.Receipts
	if issuer == nil {
		return &refusal.Error{Kind: refusal.KindForbidden, Code: "receipts_disabled", Field: "receipt",
			Message: "receipt is true, but this server signs no receipts; its operator can make a key with 'penstock receipt key FILE' and set receipts.key_file"}
	}
	s, err := issuer.Begin(ctx)
	if err != nil {
		return receiptError(ctx, err)
	}
	p.held.receipt = &draft{issuer: issuer, statement: s}
	return nil
}

// receiptError is the error of a request whose files cannot be read for its receipt.
func receiptError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return causeOf(ctx)
	case errors.Is(err, receipt.ErrChanged):
		return &refusal.Error{Kind: refusal.KindConflict, Code: "model_changed", Field: "receipt",
			Message: "a file of the model or of an adapter is no longer what was loaded, so no receipt can name it: load the model anew, or leave receipt out"}
	}
	return err
}

// stateRequest says in the receipt what is computed: everything but the answers.
func (r *Submitted) stateRequest(ctx context.Context) error {
	d := r.held.receipt
	if d == nil {
		return nil
	}
	s := d.statement
	s.Request = receipt.Request{Route: r.Caller.Sent.Route, SHA256: r.Caller.Sent.SHA256}
	for _, m := range r.Media.told {
		s.Request.Media = append(s.Request.Media, m.Hash)
	}
	for _, prompt := range r.Prompts {
		s.Prompts = append(s.Prompts, receipt.Prompt{Tokens: len(prompt), SHA256: receipt.TokensDigest(prompt)})
	}
	s.Recording, s.Forked = r.RecordingID(), r.begun.Tokens != nil
	used, samplers := r.Plugins.Used(r.Params.Chain)
	for _, u := range used {
		p := receipt.Plugin{Name: u.Name, SHA256: u.SHA256}
		config := receipt.Canonical(u.Config)
		if len(config) == 0 {
			config = []byte("{}") // as the plugin is told
		}
		if u.Own {
			p.ConfigHMAC = d.issuer.Key.Conceal(config)
		} else {
			p.ConfigSHA256 = receipt.Digest(config)
		}
		s.Plugins = append(s.Plugins, p)
	}
	var err error
	if s.Sampling, err = r.numbers(samplers); err != nil {
		return err
	}
	for _, c := range r.Choices {
		c.shown = &Whole{}
		s.Choices = append(s.Choices, receipt.Choice{Prompt: c.Index / r.PerPrompt, Seed: r.choiceParams(c.Index).Seed})
	}
	return r.stateAdapters(ctx, s)
}

// stateAdapters says with which adapters the answers are computed.
func (r *Submitted) stateAdapters(ctx context.Context, s *receipt.Statement) error {
	if r.adapters.set == nil {
		return nil
	}
	scales, ok := r.Model.Adapters.Named(r.adapters.set.Key())
	if !ok {
		return receiptError(ctx, receipt.ErrChanged)
	}
	loaded := r.Model.Adapters.List()
	for _, scale := range scales {
		at := slices.IndexFunc(loaded, func(l serving.AdapterInfo) bool { return l.Name == scale.Name })
		if at < 0 { // it has been unloaded meanwhile
			return receiptError(ctx, receipt.ErrChanged)
		}
		sum, err := r.held.receipt.issuer.Digests.Of(ctx, loaded[at].File)
		if err != nil {
			return receiptError(ctx, err)
		}
		s.Model.Files = append(slices.Clip(s.Model.Files), receipt.FileDigest{Role: receipt.RoleAdapter, SHA256: sum, Scale: scale.Scale})
	}
	return nil
}

// numbers are the sampling parameters that are no texts, with the samplers in their order. Texts
// are in the request, of which the receipt has a digest.
func (r *Submitted) numbers(samplers []string) (map[string]any, error) {
	text, err := r.Params.Describe(map[string]any{"max_tokens": r.MaxTokens})
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for name, value := range all {
		switch value.(type) {
		case float64, bool:
		default:
			delete(all, name)
		}
	}
	all["samplers"] = samplers
	return all, nil
}

// noteSteering notes for a receipt that the client is about to change the running answer.
func (r *Submitted) noteSteering(how string) {
	d := r.held.receipt
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.statement.Steered, how) {
		d.statement.Steered = append(d.statement.Steered, how)
	}
}

// Receipt is the signed receipt of the choice's request; "": none is wanted, or other choices have
// not ended. It is asked for when the choice has ended.
func (c *Choice) Receipt() string {
	d := c.Request.held.receipt
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.statement
	if one := &s.Choices[c.Index]; one.FinishReason == "" {
		c.state(one)
		d.stated++
	}
	if d.stated == len(s.Choices) && d.signed == "" {
		d.signed, _ = d.issuer.Issue(s) // a text of JSON is not refused: the statement has texts and finite numbers
	}
	return d.signed
}

// state says in a receipt what the choice has become.
func (c *Choice) state(in *receipt.Choice) {
	parts := c.shown
	var calls []receipt.Call
	for _, call := range parts.Calls {
		calls = append(calls, receipt.Call{Name: call.Name, Arguments: call.Arguments, Custom: call.Custom})
	}
	in.Tokens, in.TokensSHA256, in.TextSHA256 = len(c.Tokens), receipt.TokensDigest(c.Tokens), receipt.Digest(c.text)
	in.ContentSHA256, in.ReasoningSHA256 = receipt.TextDigest(parts.Content.String()), receipt.TextDigest(parts.Reasoning.String())
	in.CallsSHA256, in.FinishReason = receipt.CallsDigest(calls), c.End.Reason.String()
}
