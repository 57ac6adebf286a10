// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	"github.com/penstock/penstock/scheduler"
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

// locateError says of a wrong sampling parameter that it stands in the options, where it does.
func (b *AnswerFields) locateError(err error) error {
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

// chatBody is POST /api/chat.
type chatBody struct {
	AnswerFields
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`

	// Additions of ours: Ollama leaves it to the model whether it calls a tool.
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
}

func (a API) chat(c echo.Context) error {
	begun := time.Now()
	b := &chatBody{AnswerFields: newAnswerFields()}
	if err := b.read(c, b); err != nil {
		return err
	}
	if len(b.Messages) == 0 {
		return a.prepare(c, &b.AnswerFields, line{Message: &said{Role: "assistant"}})
	}
	conversation, err := b.conversation()
	if err != nil {
		return err
	}
	r, err := a.prompt(c, &b.AnswerFields, "messages", conversation)
	if err != nil {
		return err
	}
	sh := newShape(r, begun)
	sh.chat = true
	return a.answer(c, r, sh, &b.AnswerFields)
}

// prompt makes the prompt of an answer from its source, which stands in a field of the body.
func (a API) prompt(c echo.Context, b *AnswerFields, field string, source completion.Source) (*completion.Prompted, error) {
	asked, err := b.asked(wire.CallerOf(c), field, source)
	if err != nil {
		return nil, err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return nil, b.locateError(err)
	}
	return r, nil
}

// answer sends an answer, and unloads the model if the client has asked for that and may, and
// nobody else uses it.
func (a API) answer(c echo.Context, r *completion.Prompted, sh *shape, b *AnswerFields) error {
	err := a.Answer(c, r, sh, b.streams())
	if b.unload && r.Caller.Administers {
		_ = a.Models.Unload(r.Model.Name) // it is in use, or stays loaded
	}
	return err
}

// conversation is what becomes the prompt.
func (b *chatBody) conversation() (c completion.Chat, err error) {
	messages, parts, err := readMessages(b.Messages)
	if err != nil {
		return c, err
	}
	c, err = b.AnswerFields.conversation(messages)
	if c.Media = parts; err != nil {
		return c, err
	}
	if c.Tools, c.LeftOut, err = chat.ParseTools(b.Tools, false); err != nil {
		return c, err
	}
	c.ParallelToolCalls = b.ParallelToolCalls
	c.ToolChoice, err = chat.ParseToolChoice(b.ToolChoice, c.Tools)
	return c, err
}

// load answers a request that asks for nothing, with which Ollama's clients have a model loaded.
func (a API) load(c echo.Context, model string, answer func(model string) any) error {
	m, release, err := a.Models.Use(c.Request().Context(), modelName(model))
	if err != nil {
		return err
	}
	defer release()
	return c.JSON(http.StatusOK, answer(m.Name))
}

// prepare answers a chat or a generation that asks for nothing: it loads the model, or unloads it.
func (a API) prepare(c echo.Context, b *AnswerFields, answer line) error {
	answer.Created, answer.Done, answer.DoneReason = time.Now().UTC(), true, "load"
	if !b.unload {
		return a.load(c, b.Model, func(model string) any {
			answer.Model = model
			return answer
		})
	}
	if !wire.CallerOf(c).Administers {
		return &refusal.Error{Kind: refusal.KindForbidden, Code: "admin_only", Field: "keep_alive",
			Message: "keep_alive is 0, which unloads a model that all clients share: on a server with keys only the admin's does that; leave keep_alive out"}
	}
	answer.Model, answer.DoneReason = modelName(b.Model), "unload"
	if err := a.Models.Unload(answer.Model); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// generateBody is POST /api/generate.
type generateBody struct {
	AnswerFields
	Prompt   string            `json:"prompt"`
	System   string            `json:"system"`
	Template string            `json:"template" api:"refused"`
	Suffix   string            `json:"suffix"`
	Images   []string          `json:"images"`  // in base64
	Context  []scheduler.Token `json:"context"` // of an earlier answer, which this one follows
	Raw      bool              `json:"raw"`     // the prompt is used as it stands
}

func (a API) generate(c echo.Context) error {
	begun := time.Now()
	b := &generateBody{AnswerFields: newAnswerFields()}
	if err := b.read(c, b); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return err
	}
	if b.Prompt == "" {
		return a.prepare(c, &b.AnswerFields, line{Response: new(string)})
	}
	prompt, err := b.source()
	if err != nil {
		return err
	}
	r, err := a.prompt(c, &b.AnswerFields, "prompt", prompt)
	if err != nil {
		return err
	}
	sh := newShape(r, begun)
	sh.context = !b.Raw && !r.HasMedia() // which no later request could have in its context
	return a.answer(c, r, sh, &b.AnswerFields)
}

func (b *generateBody) check() error {
	switch {
	case len(b.Images) > 0 && (b.skipsTemplate() || len(b.Context) > 0):
		return refusal.Unsupported("images", "images cannot be used with raw, suffix or context: the model's template says where they stand; /api/chat takes a conversation with them")
	case b.Raw && (b.Template != "" || b.System != "" || len(b.Context) > 0):
		return refusal.Invalid("raw", "raw is true, so the prompt is used as it stands: leave out template, system and context")
	case b.Template != "":
		return refusal.Unsupported("template", "template is not supported by this server: the prompt is made by the model's own template; with raw, write it yourself")
	}
	return nil
}

// source is what becomes the prompt: the text as it stands where it is raw or has a gap that the
// answer fills, else a conversation of the system prompt and what the user says.
func (b *generateBody) source() (completion.Source, error) {
	if b.skipsTemplate() {
		prompt := completion.Text(b.Prompt)
		prompt.Suffix = b.Suffix
		return prompt, nil
	}
	var messages []chat.Message
	if b.System != "" {
		messages = append(messages, chat.Message{Role: "system", Content: b.System})
	}
	said := chat.Message{Role: "user", Content: b.Prompt}
	parts := placePictures(&said, b.Images, "images")
	c, err := b.conversation(append(messages, said))
	c.Media, c.Follows = parts, b.Context
	return c, err
}

// skipsTemplate reports whether no template makes the prompt.
func (b *generateBody) skipsTemplate() bool { return b.Raw || b.Suffix != "" }
