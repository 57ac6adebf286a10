// SPDX-License-Identifier: MIT

package ollama

import (
	"cmp"
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
	"github.com/penstock/penstock/host/media"
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

// message is a turn of a conversation as clients send it.
type message struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Thinking  string   `json:"thinking"`
	Images    []string `json:"images"` // in base64
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
}

// readMessages turns the messages into those of a conversation, in which the pictures of each
// stand before its text.
func readMessages(raw []json.RawMessage) ([]chat.Message, []media.Part, error) {
	messages := make([]chat.Message, len(raw))
	var parts []media.Part
	for i, r := range raw {
		field := fmt.Sprintf("messages[%d]", i)
		var m message
		if err := wire.Decode(r, &m); err != nil {
			return nil, nil, blameField(field, err)
		}
		var err error
		if messages[i], err = m.plain(field); err != nil {
			return nil, nil, err
		}
		parts = append(parts, placePictures(&messages[i], m.Images, field+".images")...)
	}
	pairResults(messages)
	return messages, parts, nil
}

// placePictures puts the places of pictures before a message's text.
func placePictures(m *chat.Message, images []string, field string) []media.Part {
	m.Content = strings.Repeat(media.Marker, len(images)) + m.Content
	return media.Sources(field, media.Image, images)
}

// pairResults gives the calls of tools ids, and their results the ids of their calls, where they
// have none: Ollama's clients send none, and some templates need them. A result belongs to the
// first call of its tool that has no result yet.
func pairResults(messages []chat.Message) {
	open := openCalls{queues: map[callKey][]int{}}
	for i := range messages {
		m := &messages[i]
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			if c.ID == "" {
				c.ID = fmt.Sprintf("call_%d_%d", i, j)
			}
			open.add(c.ID, c.Function.Name)
		}
		if m.Role != "tool" {
			continue
		}
		wanted := callKey{id: m.ToolCallID}
		if m.ToolCallID == "" {
			wanted.tool = m.Name
		}
		if id, ok := open.take(wanted); ok {
			m.ToolCallID = id
		}
	}
}

// openCalls are calls of tools that have no result yet. A client may send hundreds of thousands of
// calls and results, so each result must not be looked for among all calls: a call waits in a
// queue for each way to ask for it, and leaves the others when they come to it.
type openCalls struct {
	ids    []string // of all calls
	tied   []bool   // those that have their result
	queues map[callKey][]int
}

// callKey is what a result tells of its call: its id, the name of its tool, or nothing. Calls have
// both, so that no two of the three are the same key.
type callKey struct{ id, tool string }

func (o *openCalls) add(id, tool string) {
	for _, key := range []callKey{{}, {id: id}, {tool: tool}} {
		o.queues[key] = append(o.queues[key], len(o.ids))
	}
	o.ids, o.tied = append(o.ids, id), append(o.tied, false)
}

// take removes the first call that fits and returns its id.
func (o *openCalls) take(key callKey) (id string, ok bool) {
	queue := o.queues[key]
	for len(queue) > 0 && o.tied[queue[0]] {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		delete(o.queues, key)
		return "", false
	}
	first := queue[0]
	o.queues[key], o.tied[first] = queue[1:], true
	return o.ids[first], true
}

// blameField blames a field for the fault of the object in it.
func blameField(field string, err error) error {
	var e *refusal.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Field == "":
		return refusal.Invalid(field, "%s must be an object", field)
	}
	return refusal.Invalid(field+"."+e.Field, "%s.%s", field, e.Message)
}

// plain is the message as templates know it.
func (m *message) plain(field string) (chat.Message, error) {
	if !slices.Contains(chat.Roles, m.Role) {
		return chat.Message{}, refusal.Invalid(field+".role", "%s.role is %q; it must be one of %s", field, excerpt.Of(m.Role, longestValue), strings.Join(chat.Roles, ", "))
	}
	out := chat.Message{Role: m.Role, Content: m.Content, Reasoning: m.Thinking, Name: m.ToolName, ToolCallID: m.ToolCallID}
	for i, call := range m.ToolCalls {
		if call.Function.Name == "" {
			at := fmt.Sprintf("%s.tool_calls[%d].function.name", field, i)
			return out, refusal.Invalid(at, "%s is missing", at)
		}
		out.ToolCalls = append(out.ToolCalls, chat.NewToolCall(call.ID, call.Function.Name, argumentsOf(call.Function.Arguments)))
	}
	return out, nil
}

// argumentsOf is the text of an object of arguments. Some clients send the text itself.
func argumentsOf(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "{}"
	case json.Unmarshal(raw, &text) == nil:
		return cmp.Or(strings.TrimSpace(text), "{}")
	}
	return string(raw)
}

// line is an answer, or a part of one that is streamed.
type line struct {
	Model      string    `json:"model"`
	Created    time.Time `json:"created_at"`
	Message    *said     `json:"message,omitempty"`  // of a chat
	Response   *string   `json:"response,omitempty"` // of a generation
	Thinking   string    `json:"thinking,omitempty"` // of a generation
	Done       bool      `json:"done"`
	DoneReason string    `json:"done_reason,omitempty"`

	Context []scheduler.Token `json:"context,omitempty"` // of a generation: the tokens of prompt and answer
	*metrics
	Logprobs []wire.TokenProb `json:"logprobs,omitempty"`

	Trace     []wire.TokenTrace `json:"trace,omitempty"`     // an addition of ours
	Recording string            `json:"recording,omitempty"` // an addition of ours, in the last line
	Receipt   string            `json:"receipt,omitempty"`   // likewise
}

// said is what the assistant says in a chat.
type said struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// metrics are the numbers of an answer. Durations are in nanoseconds.
type metrics struct {
	Total          time.Duration `json:"total_duration"`
	Load           time.Duration `json:"load_duration"` // until the model was there
	PromptCount    int           `json:"prompt_eval_count"`
	PromptDuration time.Duration `json:"prompt_eval_duration"`
	Count          int           `json:"eval_count"`
	Duration       time.Duration `json:"eval_duration"`
	Thinking       int           `json:"thinking_eval_count,omitempty"` // an addition of ours: which of Count are reasoning
}

// shape is an answer of Ollama's, whole or as lines.
type shape struct {
	request *completion.Prompted
	begun   time.Time
	load    time.Duration
	chat    bool // else it is a generation
	context bool // the last line has the tokens
	calls   completion.Whole
}

func newShape(r *completion.Prompted, begun time.Time) *shape {
	return &shape{request: r, begun: begun, load: time.Since(begun)}
}

// Framing implements wire.Shape.
func (*shape) Framing() wire.Framing { return wire.Lines }

// Start implements wire.Shape.
func (*shape) Start(*completion.Choice) []any { return nil }

// Part implements wire.Shape. Calls are sent at the end, when all are complete. No line has both
// what is thought and what is said: LiteLLM reads only the one of such a line.
func (s *shape) Part(c *completion.Choice, d completion.Delta) (lines []any) {
	s.calls.Add(&completion.Delta{Calls: d.Calls})
	details := wire.DetailsOf(c, d)
	if d.Content == "" && d.Reasoning == "" && len(details.Probs)+len(details.Traces) == 0 {
		return nil
	}
	thinking := d.Reasoning
	if thinking != "" && d.Content != "" {
		lines, thinking = append(lines, s.line("", thinking)), ""
	}
	l := s.line(d.Content, thinking)
	l.Logprobs, l.Trace = details.Probs, details.Traces
	return append(lines, l)
}

// Last implements wire.Shape.
func (s *shape) Last(c *completion.Choice) (lines []any) {
	if calls := toolCalls(s.calls.Calls); len(calls) > 0 {
		l := s.line("", "")
		l.Message.ToolCalls = calls
		lines = append(lines, l)
	}
	l := s.line("", "")
	s.end(&l, c)
	return append(lines, l)
}

// Closing implements wire.Shape.
func (*shape) Closing([]*completion.Choice) []any { return nil }

// Whole implements wire.Shape.
func (s *shape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	w := wholes[0]
	l := s.line(w.Content.String(), w.Reasoning.String())
	if s.chat {
		l.Message.ToolCalls = toolCalls(w.Calls)
	}
	l.Logprobs, l.Trace = w.Probs, w.Traces
	s.end(&l, choices[0])
	return l
}

// line is a part of an answer with these texts.
func (s *shape) line(content, thinking string) line {
	l := line{Model: s.request.Model.Name, Created: time.Now().UTC()}
	if s.chat {
		l.Message = &said{Role: "assistant", Content: content, Thinking: thinking}
	} else {
		l.Response, l.Thinking = &content, thinking
	}
	return l
}

// end fills in how an answer ended.
func (s *shape) end(l *line, c *completion.Choice) {
	e := c.End
	l.Done, l.DoneReason, l.Recording, l.Receipt = true, e.Reason.String(), c.Request.RecordingID(), c.Receipt()
	l.metrics = &metrics{Total: time.Since(s.begun), Load: s.load, PromptCount: e.Usage.Prompt, PromptDuration: e.Timing.Prefill,
		Count: e.Usage.Generated, Duration: e.Timing.Decode, Thinking: c.ReasoningTokens()}
	if s.context && s.request.ShowsTokens() {
		l.Context = slices.Concat(s.request.Prompts[0], c.Tokens)
	}
}

// toolCalls leaves out a call that was cut off: it is not to be carried out.
func toolCalls(calls []completion.CallDelta) (out []toolCall) {
	for _, c := range calls {
		if arguments := json.RawMessage(c.Arguments); json.Valid(arguments) {
			out = append(out, toolCall{ID: c.ID, Function: function{Index: c.Index, Name: c.Name, Arguments: arguments}})
		}
	}
	return out
}
