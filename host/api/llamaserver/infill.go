// SPDX-License-Identifier: MIT

package llamaserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// infillBody is POST /infill: a completion whose prompt is made of what surrounds a gap.
type infillBody struct {
	completionBody
	Prompt *string `json:"prompt"`
	Prefix *string `json:"input_prefix"`
	Suffix *string `json:"input_suffix"`
	Extra  []chunk `json:"input_extra"`
}

// chunk is a part of another file.
type chunk struct {
	Text     *string `json:"text"`
	Filename *string `json:"filename"`
}

// infill fills in the middle.
func (a API) infill(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	b := infillBody{completionBody: defaultBody()}
	if err := wire.Decode(body, &b); err != nil {
		return err
	}
	return a.complete(c, &b.completionBody, len(body), func(ctx context.Context, r *completion.TextRequest) error {
		if err := checkFIM(r.Model.FIM); err != nil {
			return err
		}
		if err := b.checkFields(); err != nil {
			return err
		}
		p, err := b.tokens(ctx, r.Model, r.Model.Batch)
		r.Prompts = [][]scheduler.Token{p}
		return err
	})
}

// checkFIM refuses a model that cannot fill in.
func checkFIM(f serving.FIM) error {
	if missing := f.Missing(); len(missing) > 0 {
		return notSupported("Infill is not supported by this model: " + strings.Join(missing, " token is missing. ") + " token is missing.")
	}
	return nil
}

func (b *infillBody) checkFields() error {
	switch {
	case b.Prefix == nil:
		return refusal.Invalid("input_prefix", "input_prefix is missing; it must be the text before the gap")
	case b.Suffix == nil:
		return refusal.Invalid("input_suffix", "input_suffix is missing; it must be the text after the gap")
	}
	for i, e := range b.Extra {
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
func (b *infillBody) tokens(ctx context.Context, m *serving.Model, batch int) ([]scheduler.Token, error) {
	e := encoder{ctx: ctx, model: m}
	prompt := e.text("prompt", textOf(b.Prompt), true)
	extra := b.files(m, &e)
	prefix, suffix := e.text("input_prefix", *b.Prefix, false), e.text("input_suffix", *b.Suffix, false)
	if e.err != nil {
		return nil, e.err
	}
	prefix = last(prefix, 3*(batch/4))
	suffix = suffix[:min(len(suffix), max(0, batch/4-(2+len(prompt))))]
	all := append([]scheduler.Token{}, last(extra, max(0, m.Context-batch-2*max(m.MaxTokens, -1)))...)
	if m.AddBOS && m.BOSToken >= 0 {
		all = append(all, m.BOSToken)
	}
	all = append(append(append(all, m.FIM.Prefix), prefix...), prompt...)
	return append(append(append(all, m.FIM.Suffix), suffix...), m.FIM.Middle), nil
}

// files are the tokens of the other files, and of the name of the one with the gap.
func (b *infillBody) files(m *serving.Model, e *encoder) (tokens []scheduler.Token) {
	if m.FIM.Repository >= 0 {
		tokens = append(append(tokens, m.FIM.Repository), e.text("input_extra", "myproject\n", false)...)
	}
	for i, c := range b.Extra {
		at := fmt.Sprintf("input_extra[%d]", i)
		if m.FIM.Separator >= 0 {
			name := "tmp"
			if c.Filename != nil {
				name = *c.Filename
			}
			tokens = append(append(tokens, m.FIM.Separator), e.text(at+".filename", name+"\n", false)...)
		} else {
			tokens = append(tokens, e.text(at, snippet, false)...)
		}
		tokens = append(tokens, e.text(at+".text", *c.Text, false)...)
	}
	if m.FIM.Separator >= 0 {
		tokens = append(append(tokens, m.FIM.Separator), e.text("input_extra", "filename\n", false)...)
	}
	return tokens
}

// encoder tokenises texts up to the first error.
type encoder struct {
	ctx   context.Context
	model *serving.Model
	err   error
}

func (e *encoder) text(field, text string, parseSpecial bool) []scheduler.Token {
	if e.err != nil {
		return nil
	}
	tokens, err := e.model.Encoder().Tokenize(e.ctx, text, false, parseSpecial)
	e.err = completion.TextError(err, field)
	return tokens
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// last are the last n tokens.
func last(tokens []scheduler.Token, n int) []scheduler.Token { return tokens[max(0, len(tokens)-n):] }
