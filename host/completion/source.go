// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// A Source is what the prompts of a request are made of: a Chat, a Transcript, Texts or an Infill.
type Source interface {
	// hasPictures reports whether there are pictures, so that a client that names no model means
	// one that sees.
	hasPictures() bool
	// write makes the prompts of a request whose model, parameters and plugins are known. It runs
	// with a permit.
	write(ctx context.Context, p *Prompted) error
}

// Transcript is what is said in a sound.
type Transcript struct {
	Ask      string // in place of the usual words; "": those
	Language string // "": not said
	Sound    media.Part
	LeftOut  []string
}

func (Transcript) hasPictures() bool { return false }

// write asks for the transcript in a conversation.
func (t Transcript) write(ctx context.Context, p *Prompted) error {
	return t.chat(p.Model.Template.Source).write(ctx, p)
}

// chat asks for the transcript in llama-server's words: LFM2, known by its chat template, has been
// trained with others.
func (t Transcript) chat(template string) Chat {
	c := Chat{Conversation: chat.Conversation{Media: []media.Part{t.Sound}, LeftOut: t.LeftOut}}
	ask := "Transcribe audio to text"
	if strings.Contains(template, "<|tool_list_start|>") && strings.Contains(template, "<|tool_list_end|>") {
		c.Messages, ask = append(c.Messages, chat.Message{Role: "system", Content: "Perform ASR."}), ""
	}
	if t.Ask != "" {
		ask = t.Ask
	}
	if t.Language != "" {
		ask += " (language: " + t.Language + ")"
	}
	c.Messages = append(c.Messages, chat.Message{Role: "user", Content: ask + media.Marker})
	return c
}

// Texts are prompts as they stand.
type Texts struct {
	// JSON is a text, a list of tokens and texts that make one prompt, an object with either as its
	// prompt_string, and perhaps pictures and sounds, or a list of prompts. A list of texts alone
	// is a list of prompts, as with OpenAI.
	JSON   json.RawMessage
	Suffix string // of each: its answer fills the gap before that; "": there is no gap
	Echo   bool   // the answers begin with the prompts, whose texts are wanted then
}

// Text is one text as a prompt.
func Text(text string) Texts {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // texts can be quoted
	}
	return Texts{JSON: quoted}
}

func (t Texts) hasPictures() bool { return bytes.Contains(t.JSON, []byte(`"multimodal_data"`)) }

func (t Texts) write(ctx context.Context, p *Prompted) (err error) {
	if err := p.Plugins.RefuseTemplates(p.PromptField, true); err != nil {
		return err
	}
	reader := readerOf(p.Model)
	reader.of = p
	if p.Prompts, err = reader.Prompts(ctx, t.JSON, p.PromptField, maxPrompts); err != nil {
		return err
	}
	if p.HasMedia() && t.Echo {
		return refusal.Unsupported("echo", "echo is true, but the prompt has pictures or sounds, which cannot be echoed as text: leave echo out")
	}
	if p.HasMedia() && t.Suffix != "" {
		return refusal.Unsupported("suffix", "suffix is set, but the prompt has pictures or sounds, and only texts have gaps that are filled: leave suffix out")
	}
	if t.Echo {
		if err := p.echo(t.JSON); err != nil {
			return err
		}
	}
	for i := range p.Prompts {
		if t.Suffix != "" {
			if p.Prompts[i], err = fillIn(ctx, p.Model, p.Prompts[i], t.Suffix); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostPromptProbs bounds the log-probabilities of the prompts of one request: each takes about a
// hundred bytes while it is written.
const mostPromptProbs = 2 << 20

// echo notes the texts of the prompts, as they stand in raw, or else those of the tokens.
func (p *Prompted) echo(raw json.RawMessage) error {
	texts := make([]string, 1)
	if json.Unmarshal(raw, &texts[0]) != nil && json.Unmarshal(raw, &texts) != nil {
		texts = make([]string, len(p.Prompts)) // what could not be read of a list of tokens has made it longer
		for i, prompt := range p.Prompts {
			var err error
			if texts[i], err = p.Model.Engine.Detokenize(prompt); err != nil {
				return err
			}
		}
	}
	p.Texts = texts
	probs := 0
	for _, prompt := range p.Prompts {
		probs += len(prompt) * (1 + p.Logprobs) * p.PerPrompt
	}
	if p.PromptLogprobs && probs > mostPromptProbs {
		return refusal.Invalid("logprobs", "echo and logprobs ask for %d log-probabilities of prompts; one request may have %d: ask for fewer alternatives, answers or prompts", probs, mostPromptProbs)
	}
	return nil
}

// fillIn makes a prompt before a gap, with the model's first token if it wants one, and the text
// after it one prompt whose answer fills the gap.
func fillIn(ctx context.Context, m *serving.Model, before []scheduler.Token, after string) ([]scheduler.Token, error) {
	v, fim := m.Vocabulary, m.Vocabulary.FIM
	if missing := fim.Missing(); len(missing) > 0 {
		return nil, refusal.Unsupported("suffix", "suffix is set, but this model cannot fill in the middle: its vocabulary has no %s token", strings.Join(missing, " token and no "))
	}
	suffix, err := m.Encoder().Tokenize(ctx, after, false, false)
	if err != nil {
		return nil, TextError(err, "suffix")
	}
	all := make([]scheduler.Token, 0, len(before)+len(suffix)+3)
	if v.AddBOS && len(before) > 0 && before[0] == v.BOSToken {
		all, before = append(all, before[0]), before[1:]
	}
	all = append(append(append(all, fim.Prefix), before...), fim.Suffix)
	return append(append(all, suffix...), fim.Middle), nil
}

// maxPrompts bounds the prompts of one request.
const maxPrompts = 128

// PromptReader reads the prompts of bodies for one model.
type PromptReader struct {
	chat.Encoder
	Vocabulary int // tokens

	of *Prompted // that takes the pictures and sounds; nil: prompts cannot have any
}

func readerOf(m *serving.Model) PromptReader {
	return PromptReader{Encoder: m.Encoder(), Vocabulary: m.Vocabulary.Size}
}

// Prompts reads what a field holds: at most `most` prompts.
func (r PromptReader) Prompts(ctx context.Context, raw json.RawMessage, field string, most int) ([][]scheduler.Token, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, refusal.Invalid(field, "%s is missing", field)
	}
	if raw[0] != '[' {
		p, err := r.onePrompt(ctx, raw, field)
		return [][]scheduler.Token{p}, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid(field, "%s is not a list", field)
	}
	if slices.IndexFunc(items, IsNumber) >= 0 {
		p, err := r.mixedPrompt(ctx, items, field)
		return [][]scheduler.Token{p}, err
	}
	if len(items) == 0 || len(items) > most {
		return nil, refusal.Invalid(field, "%s has %d prompts; 1 to %d are allowed", field, len(items), most)
	}
	prompts := make([][]scheduler.Token, len(items))
	for i, item := range items {
		p, err := r.onePrompt(ctx, bytes.TrimSpace(item), fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return nil, err
		}
		prompts[i] = p
	}
	return prompts, nil
}

// TextError adds to the error of a text that cannot be tokenised the field that it came from.
func TextError(err error, field string) error {
	var tooLong *chat.TooLong
	switch {
	case errors.As(err, &tooLong):
		return refusal.TextTooLong(field, tooLong.Error(), tooLong.Context)
	case errors.Is(err, chat.ErrInvalidText):
		return refusal.Invalid(field, "%s: %v", field, err)
	}
	return err
}

// onePrompt reads a text, a list of tokens and texts, or, as llama-server does, an object with
// either as its prompt_string.
func (r PromptReader) onePrompt(ctx context.Context, raw json.RawMessage, field string) ([]scheduler.Token, error) {
	var object struct {
		Prompt json.RawMessage `json:"prompt_string"`
		Media  json.RawMessage `json:"multimodal_data"`
	}
	encode := r.Text
	if raw[0] == '{' && json.Unmarshal(raw, &object) == nil && len(object.Prompt) > 0 {
		has, err := r.takeMedia(object.Prompt, object.Media, field)
		if err != nil {
			return nil, err
		}
		if has {
			encode = r.WithMedia
		}
		raw, field = object.Prompt, field+".prompt_string"
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		tokens, err := encode(ctx, text)
		return tokens, TextError(err, field)
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of tokens", field)
	}
	return r.mixedPrompt(ctx, items, field)
}

// takeMedia takes the pictures and sounds of a prompt, if it has any, which are in base64. The
// prompt's text has a marker for each.
func (r PromptReader) takeMedia(prompt, raw json.RawMessage, field string) (has bool, _ error) {
	at := field + ".multimodal_data"
	if !IsSet(raw) {
		return false, nil
	}
	var sources []string
	var text string
	switch {
	case r.of == nil:
		return false, refusal.Unsupported(at, "%s is not supported here: texts and tokens are taken", at)
	case json.Unmarshal(raw, &sources) != nil:
		return false, refusal.Invalid(at, "%s must be a list of files in base64", at)
	case len(sources) > 0 && json.Unmarshal(prompt, &text) != nil:
		return false, refusal.Invalid(field+".prompt_string", "%s.prompt_string must be a text, since there are files in multimodal_data", field)
	}
	if len(sources) == 0 {
		return false, nil
	}
	r.of.Media.parts = append(r.of.Media.parts, media.Sources(at, media.Any, sources)...)
	if err := r.of.Model.Media.Check(r.of.Media.parts, r.of.Model.Name); err != nil {
		return false, err // before it is told of markers
	}
	return true, media.CheckMarkers(field+".prompt_string", text, len(sources))
}

// MixedPrompt joins tokens and texts; only a text at the beginning gets the model's special tokens.
func MixedPrompt(ctx context.Context, m *serving.Model, items []json.RawMessage, field string) ([]scheduler.Token, error) {
	return readerOf(m).mixedPrompt(ctx, items, field)
}

func (r PromptReader) mixedPrompt(ctx context.Context, items []json.RawMessage, field string) ([]scheduler.Token, error) {
	var prompt []scheduler.Token
	for i, item := range items {
		var text string
		if item[0] == '"' && json.Unmarshal(item, &text) == nil {
			encode := r.Continuation
			if i == 0 {
				encode = r.Text
			}
			tokens, err := encode(ctx, text)
			if err != nil {
				return nil, TextError(err, field)
			}
			prompt = append(prompt, tokens...)
			continue
		}
		token, ok := ReadToken(item, r.Vocabulary)
		if !ok {
			at := fmt.Sprintf("%s[%d]", field, i)
			return nil, refusal.Invalid(at, "%s must be a text or a token from 0 to %d", at, r.Vocabulary-1)
		}
		prompt = append(prompt, token)
	}
	return prompt, nil
}

// ReadToken reads a token of a vocabulary of this size; false: the value is none.
func ReadToken(raw json.RawMessage, vocabulary int) (token scheduler.Token, ok bool) {
	err := integer.Unmarshal(raw, &token)
	return token, IsNumber(raw) && err == nil && token >= 0 && int(token) < vocabulary
}

// IsNumber reports whether a JSON value is a number.
func IsNumber(raw json.RawMessage) bool { return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9') }

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
