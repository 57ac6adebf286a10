// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
)

// AnswerFields are the fields that every body asking for an answer may have.
type AnswerFields struct {
	completion.CommonFields

	Model       string          `json:"model"`
	Stream      *bool           `json:"stream"` // absent: true
	Format      json.RawMessage `json:"format"` // "json" or a JSON schema
	Options     json.RawMessage `json:"options"`
	KeepAlive   json.RawMessage `json:"keep_alive"` // 0 has the model unloaded; otherwise the server decides when that is done
	Think       json.RawMessage `json:"think"`
	Logprobs    bool            `json:"logprobs"`
	TopLogprobs int             `json:"top_logprobs"`

	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"` // an addition of ours

	options options
	unload  bool // the model, after the answer
	size    int  // bytes of the body
}

// options are the fields of the object of that name. Those that it may have besides are about how
// Ollama loads a model, such as num_ctx and num_gpu: they are ignored, as a model that runs for
// all has what its operator gave it.
type options struct {
	sampling.ParamFields
	NumPredict int             `json:"num_predict"`
	Stop       json.RawMessage `json:"stop"`
}

// maxLogprobs bounds the alternatives reported with each token.
const maxLogprobs = 20

// longestValue is how much of a wrong value an error repeats.
const longestValue = 40

func newAnswerFields() AnswerFields {
	return AnswerFields{CommonFields: completion.DefaultCommonFields()}
}

// read reads the body of a request into whole, of which b is a part, and checks what all bodies
// share.
func (b *AnswerFields) read(c echo.Context, whole any) error {
	var err error
	if b.size, err = wire.ReadBody(c, whole); err != nil {
		return err
	}
	if err := b.readOptions(); err != nil {
		return err
	}
	if b.TopLogprobs < 0 || b.TopLogprobs > maxLogprobs {
		return refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", b.TopLogprobs, maxLogprobs)
	}
	return b.readKeepAlive()
}

// readOptions puts the options in place of the sampling parameters beside them, which are an
// addition of ours.
func (b *AnswerFields) readOptions() error {
	if !completion.IsSet(b.Options) {
		return nil
	}
	named := struct {
		Options options `json:"options"`
	}{options{ParamFields: b.ParamFields}}
	if err := wire.Decode(fmt.Appendf(nil, `{"options":%s}`, b.Options), &named); err != nil {
		return err
	}
	b.options, b.ParamFields = named.Options, named.Options.ParamFields
	return nil
}

// readKeepAlive takes a number of seconds or a text. How long a model stays is the server's affair,
// so of a text it only counts whether it says nought: clients send "5m", "-1" and "".
func (b *AnswerFields) readKeepAlive() error {
	if len(b.KeepAlive) == 0 || string(b.KeepAlive) == "null" {
		return nil
	}
	var seconds float64
	var text string
	switch {
	case json.Unmarshal(b.KeepAlive, &seconds) == nil:
		b.unload = seconds == 0
	case json.Unmarshal(b.KeepAlive, &text) == nil:
		d, err := time.ParseDuration(text)
		b.unload = err == nil && d == 0
	default:
		return refusal.Invalid("keep_alive", "keep_alive is %s; it must be a number of seconds or a duration such as \"5m\"", excerpt.Of(string(b.KeepAlive), longestValue))
	}
	return nil
}

// answerFormat is what format says: JSON, or JSON that a schema allows, which may be empty.
func (b *AnswerFields) answerFormat() (completion.Format, error) {
	f := completion.Format{Field: "format", JSONSchema: b.Format}
	var word string
	switch {
	case !completion.IsSet(b.Format) && (len(b.Format) == 0 || b.Format[0] != '{'):
		return completion.Format{}, nil
	case json.Unmarshal(b.Format, &word) == nil && word == "json":
		f.JSONSchema = completion.AnyObject
	case b.Format[0] != '{':
		return f, refusal.Invalid("format", "format is %s; it must be \"json\" or a JSON schema, which is an object", excerpt.Of(string(b.Format), longestValue))
	}
	return f, nil
}

// conversation is what becomes the prompt. think says whether the model reasons before it answers,
// and how much.
func (b *AnswerFields) conversation(messages []chat.Message) (c completion.Chat, err error) {
	c.Messages, c.TemplateArgs = messages, b.TemplateArgs
	if last := messages[len(messages)-1]; last.Role == "assistant" {
		c.Continue, c.AddGenerationPrompt = chat.ContinueAuto, new(bool)
		if len(last.ToolCalls) > 0 {
			return c, refusal.Invalid("messages", "messages end with tool_calls; the tool's message with the result is missing")
		}
	}
	c.EnableThinking, c.ReasoningEffort, err = b.thinking()
	return c, err
}

// thinking reads whether the model reasons before it answers, and how much; nil: as its template
// has it.
func (b *AnswerFields) thinking() (on *bool, effort string, err error) {
	if len(b.Think) == 0 || string(b.Think) == "null" {
		return nil, "", nil
	}
	thinks := true
	if json.Unmarshal(b.Think, &thinks) == nil {
		return &thinks, "", nil
	}
	if json.Unmarshal(b.Think, &effort) != nil || !slices.Contains(efforts, effort) {
		return nil, "", refusal.Invalid("think", "think is %s; it must be true, false, or one of %s", excerpt.Of(string(b.Think), longestValue), strings.Join(efforts, ", "))
	}
	return &thinks, effort, nil
}

// efforts are the levels that think may name.
var efforts = []string{"low", "medium", "high", "max"}

// asked is the request for the answer to a prompt.
func (b *AnswerFields) asked(from completion.Caller, promptField string, prompt completion.Source) (a completion.Asked, err error) {
	a = completion.Asked{Caller: from, ModelName: modelName(b.Model), PromptField: promptField, Common: b.CommonFields, Size: b.size, Source: prompt, Answers: completion.OneAnswer()}
	limit := max(0, b.options.NumPredict) // below 1: as many as fit, as with Ollama
	if a.Limit = &limit; b.Logprobs {
		a.Logprobs = b.TopLogprobs
	}
	if a.Stops, err = completion.ReadStops(b.options.Stop, "options.stop"); err != nil {
		return a, err
	}
	if thinks, _, _ := b.thinking(); thinks != nil && *thinks {
		a.Thinking = string(b.Think)
	}
	a.Format, err = b.answerFormat()
	return a, err
}

// modelName drops the tag that Ollama adds to names without one.
func modelName(name string) string { return strings.TrimSuffix(name, defaultTag) }

const defaultTag = ":latest"

// located says of a wrong sampling parameter that it stands in the options, where it does.
func (b *AnswerFields) located(err error) error {
	var wrong *sampling.Invalid
	if !errors.As(err, &wrong) {
		return err
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(b.Options, &given) == nil && given[wrong.Field] != nil {
		return &sampling.Invalid{Field: "options." + wrong.Field, Value: wrong.Value, Want: wrong.Want}
	}
	return err
}

// streams reports whether the answer is to be streamed.
func (b *AnswerFields) streams() bool { return b.Stream == nil || *b.Stream }
