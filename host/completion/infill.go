// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// Infill is a gap in a file, by llama-server's names: the prompt is made of what surrounds the gap.
type Infill struct {
	Prompt string  // the beginning of what fills the gap
	Prefix *string // the text before the gap
	Suffix *string // the text after it
	Extra  []File  // other files
}

// File is a part of a file.
type File struct {
	Text     *string `json:"text"`
	Filename *string `json:"filename"`
}

func (Infill) hasPictures() bool { return false }

func (f Infill) write(ctx context.Context, p *Prompted) error {
	if err := p.Plugins.RefuseTemplates("input_prefix", true); err != nil {
		return err
	}
	if missing := p.Model.Vocabulary.FIM.Missing(); len(missing) > 0 {
		return &refusal.Error{Kind: refusal.KindLacking, Code: "not_supported",
			Message: "Infill is not supported by this model: " + strings.Join(missing, " token is missing. ") + " token is missing."}
	}
	if err := f.check(); err != nil {
		return err
	}
	prompt, err := f.tokens(ctx, p.Model)
	p.Prompts = [][]scheduler.Token{prompt}
	return err
}

func (f Infill) check() error {
	switch {
	case f.Prefix == nil:
		return refusal.Invalid("input_prefix", "input_prefix is missing; it must be the text before the gap")
	case f.Suffix == nil:
		return refusal.Invalid("input_suffix", "input_suffix is missing; it must be the text after the gap")
	}
	for i, e := range f.Extra {
		if e.Text == nil {
			field := fmt.Sprintf("input_extra[%d].text", i)
			return refusal.Invalid(field, "%s is missing; it must be a text", field)
		}
	}
	return nil
}

// snippet separates files where the model has no token for that.
const snippet = "\n\n--- snippet ---\n\n"

// tokens is the prompt, in the order that models are trained with: the other files, the text
// before the gap with the beginning of what fills it, and the text after it. As in llama-server,
// text before and after the gap shares a batch, 3 to 1, and of the files the end is taken for
// which the context has room.
func (f Infill) tokens(ctx context.Context, m *serving.Model) ([]scheduler.Token, error) {
	e, v, fim := infillEncoder{ctx: ctx, model: m}, m.Vocabulary, m.Vocabulary.FIM
	prompt := e.text("prompt", f.Prompt, true)
	extra := f.files(fim, &e)
	prefix, suffix := e.text("input_prefix", *f.Prefix, false), e.text("input_suffix", *f.Suffix, false)
	if e.err != nil {
		return nil, e.err
	}
	prefix = lastOf(prefix, 3*(m.Compute.Batch/4))
	suffix = suffix[:min(len(suffix), max(0, m.Compute.Batch/4-(2+len(prompt))))]
	all := append([]scheduler.Token{}, lastOf(extra, max(0, m.Context-m.Compute.Batch-2*max(m.Defaults.MaxTokens, -1)))...)
	if v.AddBOS && v.BOSToken >= 0 {
		all = append(all, v.BOSToken)
	}
	all = append(append(append(all, fim.Prefix), prefix...), prompt...)
	return append(append(append(all, fim.Suffix), suffix...), fim.Middle), nil
}

// files are the tokens of the other files, and of the name of the one with the gap.
func (f Infill) files(fim serving.FIM, e *infillEncoder) (tokens []scheduler.Token) {
	if fim.Repository >= 0 {
		tokens = append(append(tokens, fim.Repository), e.text("input_extra", "myproject\n", false)...)
	}
	for i, c := range f.Extra {
		at := fmt.Sprintf("input_extra[%d]", i)
		if fim.Separator >= 0 {
			name := "tmp"
			if c.Filename != nil {
				name = *c.Filename
			}
			tokens = append(append(tokens, fim.Separator), e.text(at+".filename", name+"\n", false)...)
		} else {
			tokens = append(tokens, e.text(at, snippet, false)...)
		}
		tokens = append(tokens, e.text(at+".text", *c.Text, false)...)
	}
	if fim.Separator >= 0 {
		tokens = append(append(tokens, fim.Separator), e.text("input_extra", "filename\n", false)...)
	}
	return tokens
}

// infillEncoder tokenises texts up to the first error.
type infillEncoder struct {
	ctx   context.Context
	model *serving.Model
	err   error
}

func (e *infillEncoder) text(field, text string, parseSpecial bool) []scheduler.Token {
	if e.err != nil {
		return nil
	}
	tokens, err := e.model.Encoder().Tokenize(e.ctx, text, false, parseSpecial)
	e.err = TextError(err, field)
	return tokens
}

func lastOf(tokens []scheduler.Token, n int) []scheduler.Token { return tokens[max(0, len(tokens)-n):] }
