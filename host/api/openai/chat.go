// SPDX-License-Identifier: MIT

package openai

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lark"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// AnswerFields are the fields that every body asking for an answer may have.
type AnswerFields struct {
	completion.CommonFields

	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	// What llama-server tells besides; see described.
	Verbose         bool `json:"verbose"`
	ReturnProgress  bool `json:"return_progress"`
	TimingsPerToken bool `json:"timings_per_token"`

	N    *int            `json:"n"`
	Stop json.RawMessage `json:"stop"`

	// Three names of one thing; the first that is there counts.
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxTokens           *int `json:"max_tokens"`
	NPredict            *int `json:"n_predict"`

	ResponseFormat    json.RawMessage `json:"response_format"`
	StructuredOutputs json.RawMessage `json:"structured_outputs"`
}

// The bounds of what one request may ask for.
const (
	MaxLogprobs = 20 // alternatives reported with each token
	maxChoices  = 128
)

// Defaults are what a body begins with.
func Defaults() AnswerFields { return AnswerFields{CommonFields: completion.DefaultCommonFields()} }

// asked is the request for the answers; a number of 0 tokens is allowed if they may be empty.
func (b *AnswerFields) asked(from completion.Caller, size int, mayBeEmpty bool) (completion.Asked, error) {
	a := completion.Asked{Caller: from, ModelName: b.Model, Size: size, Common: b.CommonFields, Answers: completion.OneAnswer()}
	if a.PerPrompt = b.choices(); a.PerPrompt < 1 || a.PerPrompt > maxChoices {
		return a, refusal.Invalid("n", "n is %d; it must be from 1 to %d", a.PerPrompt, maxChoices)
	}
	a.Progress = b.ReturnProgress && b.Stream
	var err error
	if a.Format, err = b.format(); err != nil {
		return a, err
	}
	if a.Limit, a.NoAnswer, err = b.limit(mayBeEmpty); err != nil {
		return a, err
	}
	a.Stops, err = completion.ReadStops(b.Stop, "stop")
	return a, err
}

// choices is how many answers to each prompt are wanted.
func (b *AnswerFields) choices() int {
	if b.N == nil {
		return 1
	}
	return *b.N
}

// limit is how many tokens to generate; nil: as many as the server allows, which clients write as
// -1. None: nothing is to be generated.
func (b *AnswerFields) limit(mayBeEmpty bool) (limit *int, none bool, err error) {
	given := false
	for _, f := range []struct {
		name  string
		value *int
	}{{"max_completion_tokens", b.MaxCompletionTokens}, {"max_tokens", b.MaxTokens}, {"n_predict", b.NPredict}} {
		switch {
		case f.value == nil:
			continue
		case *f.value == 0 && mayBeEmpty:
			none = none || !given
		case *f.value < 1 && *f.value != -1:
			return nil, false, refusal.Invalid(f.name, "%s is %d; it must be at least 1, or -1 for as many as fit", f.name, *f.value)
		case !given && *f.value > 0:
			limit = f.value
		}
		given = true
	}
	return limit, none, nil
}

// ChatBody is POST /v1/chat/completions.
type ChatBody struct {
	AnswerFields
	Logprobs    bool `json:"logprobs"`
	TopLogprobs *int `json:"top_logprobs"`

	Conversation

	Modalities []string        `json:"modalities"`
	Audio      json.RawMessage `json:"audio" api:"refused"`
	WebSearch  json.RawMessage `json:"web_search_options" api:"refused"`
}

// checkAbilities refuses what asks for another answer than text of the model alone.
func (b *ChatBody) checkAbilities() error {
	for i, modality := range b.Modalities {
		if modality != "text" {
			field := "modalities[" + strconv.Itoa(i) + "]"
			return refusal.Unsupported(field, "%s is %q; this server answers with text only", field, excerpt.Of(modality, 40))
		}
	}
	if completion.IsSet(b.Audio) {
		return refusal.Unsupported("audio", "audio is not supported by this server, which answers with text only")
	}
	if completion.IsSet(b.WebSearch) {
		return refusal.Unsupported("web_search_options", "web_search_options are not supported: this server searches nothing; offer the model a tool that does")
	}
	return nil
}

// Asked is the request that a body of size bytes is.
func (b *ChatBody) Asked(from completion.Caller, size int) (completion.Asked, error) {
	a, err := b.asked(from, size, false)
	if err != nil {
		return a, err
	}
	if err := b.checkAbilities(); err != nil {
		return a, err
	}
	c, err := b.read()
	if err != nil {
		return a, completion.AsError(err, "messages")
	}
	c.Echo = !b.Stream // as llama-server: a whole message is told whole
	a.PromptField, a.Source = "messages", completion.Chat{Conversation: c}
	switch top := b.TopLogprobs; {
	case top != nil && (*top < 0 || *top > MaxLogprobs):
		return a, refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, MaxLogprobs)
	case top != nil && *top > 0 && !b.Logprobs:
		return a, refusal.Invalid("top_logprobs", "top_logprobs needs logprobs to be true")
	case b.Logprobs && top != nil:
		a.Logprobs = *top
	case b.Logprobs:
		a.Logprobs = 0
	}
	return a, nil
}

// Conversation are the fields of a body that become its prompt and say how the answer is taken
// apart.
type Conversation struct {
	Messages          []json.RawMessage `json:"messages"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`

	ReasoningEffort string `json:"reasoning_effort"`
	ReasoningFormat string `json:"reasoning_format"`

	EnableThinking       *bool                      `json:"enable_thinking"` // as in chat_template_kwargs: DashScope's clients have it here
	TemplateArgs         map[string]json.RawMessage `json:"chat_template_kwargs"`
	AddGenerationPrompt  *bool                      `json:"add_generation_prompt"`
	ContinueFinalMessage json.RawMessage            `json:"continue_final_message"`

	// Left out: what a server does with a conversation that it keeps.
	ContextManagement json.RawMessage `json:"context_management" api:"left out"`

	// Refused: they are what tools and tool_choice were before.
	Functions    json.RawMessage `json:"functions" api:"refused"`
	FunctionCall json.RawMessage `json:"function_call" api:"refused"`
}

// read checks the fields. Errors are *refusal.Error or *chat.Invalid.
func (b *Conversation) read() (c chat.Conversation, err error) {
	if completion.IsSet(b.Functions) {
		return c, refusal.Unsupported("functions", "functions are not supported by this server; use tools, each as {\"type\": \"function\", \"function\": ...}")
	}
	if completion.IsSet(b.FunctionCall) {
		return c, refusal.Unsupported("function_call", "function_call is not supported by this server; use tool_choice")
	}
	c = chat.Conversation{ParallelToolCalls: b.ParallelToolCalls, ReasoningEffort: b.ReasoningEffort, ReasoningFormat: b.ReasoningFormat,
		TemplateArgs: b.TemplateArgs, EnableThinking: b.EnableThinking}
	c.AddGenerationPrompt = b.AddGenerationPrompt
	if c.Continue, c.Fresh, err = b.goesOn(); err != nil {
		return c, err
	}
	if c.Tools, c.LeftOut, err = chat.ParseTools(b.Tools, true); err != nil {
		return c, err
	}
	if completion.IsSet(b.ContextManagement) {
		c.LeftOut = append(c.LeftOut, "context_management")
	}
	if c.ToolChoice, err = chat.ParseToolChoice(b.ToolChoice, c.Tools); err != nil {
		return c, err
	}
	c.Messages, c.Media, err = chat.ParseMessages(b.Messages)
	return c, err
}

// goesOn reads continue_final_message: true, or what of the message the answer goes on with; or
// false, where the answer begins a fresh one whoever the last one is by.
func (b *Conversation) goesOn() (on chat.Continuation, fresh bool, err error) {
	switch text := string(b.ContinueFinalMessage); text {
	case "", "null":
		return "", false, nil
	case "false":
		return "", true, nil
	case "true":
		return chat.ContinueAuto, false, nil
	case `"content"`, `"reasoning_content"`:
		return chat.Continuation(strings.Trim(text, `"`)), false, nil
	}
	return "", false, &chat.Invalid{Field: "continue_final_message", Reason: fmt.Sprintf("must be true, false, %q or %q", chat.ContinueContent, chat.ContinueReasoning)}
}

// format is what an answer must look like: response_format and structured_outputs say it.
func (b *AnswerFields) format() (completion.Format, error) {
	f, err := formatOf(b.ResponseFormat)
	if err != nil {
		return f, err
	}
	other, err := outputsOf(b.StructuredOutputs)
	switch {
	case err != nil || f.Field == "":
		return other, err
	case other.Field != "":
		return f, refusal.Invalid(other.Field, "%s and json_schema cannot be used together", other.Field)
	}
	return f, nil
}

// formatOf is what response_format says; without a Field where it says nothing.
func formatOf(raw json.RawMessage) (f completion.Format, _ error) {
	const field = "response_format"
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		Type       string          `json:"type"`
		Schema     json.RawMessage `json:"schema"` // of a json_object, llama-server's addition
		JSONSchema *struct {
			Schema json.RawMessage `json:"schema"`
			Strict *bool           `json:"strict"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid("response_format", `response_format must be an object such as {"type": "json_schema", "json_schema": {"schema": …}}`)
	}
	switch said.Type {
	case "text":
		return f, nil
	case "json_object":
		if len(said.Schema) == 0 || string(said.Schema) == "null" {
			return completion.Format{Field: field, JSONSchema: completion.AnyObject}, nil
		}
		return completion.Format{Field: field, JSONSchema: said.Schema, In: ".schema"}, nil
	case "json_schema":
		if said.JSONSchema == nil || len(said.JSONSchema.Schema) == 0 || string(said.JSONSchema.Schema) == "null" {
			return f, refusal.Invalid("response_format.json_schema.schema", "response_format.json_schema.schema is missing; response_format.type is json_schema")
		}
		return completion.Format{Field: field, JSONSchema: said.JSONSchema.Schema, In: ".json_schema.schema", Strict: said.JSONSchema.Strict}, nil
	}
	return f, refusal.Invalid("response_format.type", "response_format.type is %q; it must be text, json_object or json_schema", excerpt.Of(said.Type, 40))
}

// gbnfRule is the beginning of a rule in GBNF or a notation like it. In Lark's it may stand in a
// text or a comment alone.
var gbnfRule = regexp.MustCompile(`(?m)^[^"'/#\n]*::=`)

// grammarOf is a grammar of structured_outputs as Constraint has it. As with vLLM, what has no rule
// in GBNF is in Lark's notation.
func grammarOf(text string) string {
	if text == "" || lark.Is(text) || gbnfRule.MatchString(text) {
		return text
	}
	return lark.Prefix + " {} " + text
}

// outputsOf is what structured_outputs says, which is vLLM's word; without a Field where it says
// nothing.
func outputsOf(raw json.RawMessage) (f completion.Format, _ error) {
	const field = "structured_outputs"
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		JSON          json.RawMessage `json:"json"`
		JSONObject    bool            `json:"json_object"`
		Regex         string          `json:"regex"`
		Choice        []string        `json:"choice"`
		Grammar       string          `json:"grammar"`
		StructuralTag json.RawMessage `json:"structural_tag"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid(field, `structured_outputs must be an object with json, json_object, regex, choice or grammar, such as {"choice": ["yes", "no"]}`)
	}
	if completion.IsSet(said.StructuralTag) {
		return f, refusal.Unsupported(field+".structural_tag", "structured_outputs.structural_tag is not supported by this server; write a grammar instead")
	}
	schema := said.JSON
	var text string
	switch {
	case len(schema) == 0 || string(schema) == "null":
		schema = nil
	case json.Unmarshal(schema, &text) == nil: // vLLM takes it as a text as well
		schema = json.RawMessage(text)
	}
	given := 0
	for _, is := range []bool{schema != nil, said.JSONObject, said.Regex != "", said.Choice != nil, said.Grammar != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return f, refusal.Invalid(field, "structured_outputs has %d of json, json_object, regex, choice and grammar; it must have one", given)
	case said.Choice != nil && len(said.Choice) == 0:
		return f, refusal.Invalid(field+".choice", "structured_outputs.choice is empty; it must have the texts that an answer may be")
	}
	f.Field = field
	switch {
	case schema != nil:
		f.JSONSchema, f.In = schema, ".json"
	case said.JSONObject:
		f.JSONSchema, f.In = completion.AnyObject, ".json_object"
	case said.Grammar != "":
		f.Grammar, f.In = grammarOf(said.Grammar), ".grammar"
	case said.Choice != nil:
		for i, text := range said.Choice {
			said.Choice[i] = regexp.QuoteMeta(text)
		}
		f.Regex, f.In = strings.Join(said.Choice, "|"), ".choice"
	default:
		f.Regex, f.In = said.Regex, ".regex"
	}
	return f, nil
}

// head is what every object of an answer begins with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`

	Fingerprint string `json:"system_fingerprint,omitempty"` // the program that answers
	Verbose     any    `json:"__verbose,omitempty"`          // llama-server's description of the answer
}

// describe adds llama-server's description of the answer.
func (h *head) describe(answer any) { h.Verbose = answer }

// answerHeads begin the objects of one answer, streamed and whole.
type answerHeads struct {
	common    head // but for Object
	request   *completion.Prompted
	sendUsage bool
}

func (a API) newAnswerHeads(prefix string, r *completion.Prompted, b *AnswerFields) answerHeads {
	h := head{ID: prefix + rand.Text(), Created: time.Now().Unix(), Model: r.Model.Name, Fingerprint: "penstock " + a.Version}
	return answerHeads{h, r, b.StreamOptions.IncludeUsage}
}

// head is the head of an object.
func (h answerHeads) head(object string) head {
	of := h.common
	of.Object = object
	return of
}

func (h answerHeads) usage(choices []*completion.Choice) wire.Usage {
	return wire.UsageOf(choices, h.request.PerPrompt)
}

// noUsage is the usage of a frame before the one that tells it: null if the client has asked for
// that one, as with OpenAI, else nothing.
func (h answerHeads) noUsage() any {
	if !h.sendUsage {
		return nil
	}
	return (*wire.Usage)(nil) // which is not omitted
}

// answerFrame is a frame of a streamed answer, or a whole text completion: some of its choices.
type answerFrame[Choice any] struct {
	head
	Choices []Choice `json:"choices"`
	Usage   any      `json:"usage,omitempty"` // see answerHeads.noUsage
	wire.Measured

	Recording string `json:"recording,omitempty"` // an addition of ours, in the last frame of a choice
	Receipt   string `json:"receipt,omitempty"`   // likewise, of the choice that ends last
}

// Start implements wire.Shape: nothing is sent before the first token.
func (answerHeads) Start(*completion.Choice) []any { return nil }

// Framing implements wire.Shape.
func (answerHeads) Framing() wire.Framing { return wire.EventsDone }

// chatShape is OpenAI's chat completion.
type chatShape struct {
	answerHeads
	begun map[int]bool // the choices whose first frame was sent
}

type chatChunk = answerFrame[chatDelta]

type chatDelta struct {
	Index        int        `json:"index"`
	Delta        chatText   `json:"delta"`
	Logprobs     *chatProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`
	additions
}

// additions are what we add to a choice. A stream has the outputs in the choice's last chunk.
type additions struct {
	Trace []wire.TokenTrace `json:"trace,omitempty"`
	wire.Branches
	PluginOutputs []wire.PluginOutput `json:"plugin_outputs,omitempty"`
}

type chatText struct {
	Role      string           `json:"role,omitempty"`
	Content   *string          `json:"content,omitempty"`
	Reasoning string           `json:"reasoning_content,omitempty"`
	ToolCalls []wire.CallDelta `json:"tool_calls,omitempty"`
}

type chatAnswer struct {
	head
	Choices []chatChoice `json:"choices"`
	Usage   wire.Usage   `json:"usage"`
	Timings wire.Timings `json:"timings"`

	Recording string `json:"recording,omitempty"` // an addition of ours
	Receipt   string `json:"receipt,omitempty"`   // likewise
}

type chatChoice struct {
	Index        int         `json:"index"`
	Message      chatMessage `json:"message"`
	Logprobs     *chatProbs  `json:"logprobs"`
	FinishReason string      `json:"finish_reason"`
	additions
}

type chatMessage struct {
	Role      string      `json:"role"`
	Content   *string     `json:"content"` // null where there are only tool calls
	Refusal   *struct{}   `json:"refusal"` // null: a refusal is text here; clients with strict types want the field
	Reasoning string      `json:"reasoning_content,omitempty"`
	ToolCalls []wire.Call `json:"tool_calls,omitempty"`
}

func newChatShape(h answerHeads) chatShape { return chatShape{h, map[int]bool{}} }

func (s chatShape) chunk(d chatDelta) *chatChunk {
	return &chatChunk{head: s.head("chat.completion.chunk"), Choices: []chatDelta{d}, Usage: s.noUsage()}
}

// Part implements wire.Shape.
func (s chatShape) Part(c *completion.Choice, d completion.Delta) []any {
	more := wire.DetailsOf(c, d)
	part := chatDelta{Index: c.Index, Delta: chatText{Reasoning: d.Reasoning, ToolCalls: wire.CallDeltas(d.Calls)}, Logprobs: chatProbsOf(more.Probs), additions: additions{Trace: more.Traces, Branches: more.Branches}}
	if d.Content != "" || d.Reasoning == "" && len(d.Calls) == 0 {
		part.Delta.Content = &d.Content
	}
	return s.begin(c, s.chunk(part))
}

// begin puts the role before the first frame of a choice, in a frame of its own as with OpenAI:
// its client for Node.js takes the log-probabilities of a choice's first frame twice.
func (s chatShape) begin(c *completion.Choice, frame any) []any {
	if s.begun[c.Index] {
		return []any{frame}
	}
	s.begun[c.Index] = true
	return []any{s.chunk(chatDelta{Index: c.Index, Delta: chatText{Role: "assistant", Content: new(string)}}), frame}
}

// Last implements wire.Shape.
func (s chatShape) Last(c *completion.Choice) []any {
	reason := c.FinishReason()
	chunk := s.chunk(chatDelta{Index: c.Index, FinishReason: &reason, additions: additions{PluginOutputs: wire.OutputsOf(c)}})
	chunk.Timings, chunk.Recording, chunk.Receipt = timingsOf(c.End), c.Request.RecordingID(), c.Receipt()
	return s.begin(c, chunk)
}

// Closing implements wire.Shape.
func (s chatShape) Closing(choices []*completion.Choice) []any {
	if !s.sendUsage {
		return nil
	}
	return []any{&chatChunk{head: s.head("chat.completion.chunk"), Choices: []chatDelta{}, Usage: s.usage(choices)}}
}

// Whole implements wire.Shape.
func (s chatShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := chatAnswer{head: s.head("chat.completion"), Usage: s.usage(choices), Timings: wire.TimingsOf(choices[0].End), Recording: s.request.RecordingID(), Receipt: wire.ReceiptOf(choices)}
	for i, c := range choices {
		w := wholes[i]
		a.Choices = append(a.Choices, chatChoice{Index: c.Index, Message: messageOf(w),
			Logprobs: chatProbsOf(w.Probs), FinishReason: c.FinishReason(), additions: additions{w.Traces, w.Branches, wire.OutputsOf(c)}})
	}
	return &a
}

func messageOf(w *wire.Whole) chatMessage {
	m := chatMessage{Role: "assistant", Reasoning: w.Reasoning.String()}
	if content := w.Content.String(); content != "" || len(w.Calls) == 0 {
		m.Content = &content
	}
	m.ToolCalls = wire.CallsOf(w)
	return m
}

func chatProbsOf(probs []wire.TokenProb) *chatProbs {
	if len(probs) == 0 {
		return nil
	}
	return &chatProbs{Content: probs}
}

func timingsOf(e scheduler.End) *wire.Timings {
	t := wire.TimingsOf(e)
	return &t
}

// chatProbs is logprobs of a chat choice.
type chatProbs struct {
	Content []wire.TokenProb `json:"content"`
	Refusal *struct{}        `json:"refusal"` // null: see chatMessage
}

// describedShape adds to the answers of another shape what llama-server tells besides: its
// description of the answer (verbose), frames of how far the prompt is computed, and the times
// until each token.
type describedShape struct {
	wire.Shape
	about   wire.Detailed // the frames of llama-server's own API for the same answer
	verbose bool
}

// describeShape adds to a shape what a body asks for besides.
func (a API) describeShape(r *completion.Prompted, b *AnswerFields, sh wire.Shape) wire.Shape {
	measured := b.Stream && (b.ReturnProgress || b.TimingsPerToken)
	if !b.Verbose && !measured {
		return sh
	}
	return describedShape{sh, a.Describe(r, b), b.Verbose}
}

// describable is an object that begins with a head.
type describable interface{ describe(answer any) }

// measurable is a frame that has wire.Measured.
type measurable interface{ Measures() *wire.Measured }

// Event implements wire.Detailed.
func (s describedShape) Event(c *completion.Choice, d completion.Delta) []any {
	about := s.about.Event(c, d)
	frames := wire.Frames(s.Shape, c, d)
	if len(about) == 0 {
		return frames
	}
	switch d.Event.Kind {
	case scheduler.KindStarted, scheduler.KindProgress:
		frames = append(frames, s.Part(c, completion.Delta{})...)
	case scheduler.KindEnd:
		if head, ok := frames[0].(describable); ok && s.verbose { // the last frame is always there
			head.describe(about[len(about)-1])
		}
		return frames
	}
	if told, ok := about[0].(measurable); ok && len(frames) > 0 {
		if frame, ok := frames[len(frames)-1].(measurable); ok {
			*frame.Measures() = *told.Measures()
		}
	}
	return frames
}

// Whole implements wire.Shape.
func (s describedShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.Shape.Whole(choices, wholes)
	if head, ok := a.(describable); ok && s.verbose {
		head.describe(s.about.Whole(choices[:1], wholes[:1]))
	}
	return a
}
