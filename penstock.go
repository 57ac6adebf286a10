// SPDX-License-Identifier: MIT

// Package penstock runs language models in a Go program, as the server does for its clients.
//
// [Open] loads a model. Any number of goroutines may use it at once: their requests share its
// forward passes. [Model.Generate] continues a text, [Model.Chat] answers a conversation;
// [Model.Stream] and [Model.ChatStream] do the same token by token, and [Model.Live] gives a handle
// on the answer while it is written. A request has options, such as [MaxTokens], [Schema], [Tools]
// and [Plugins]. docs/library.md has what building takes, and a task for each feature.
//
// # Notes
//
//   - A stream is an iterator. Whoever leaves the loop, cancels the context or drops a [Live] frees
//     the slot.
//   - Errors are a *[ModelError] of Open, a *[RequestError] of a request, [ErrClosed], or the
//     context's. Those of requests may be a *[PromptTooLong], a *[PluginFault] or an *[Overload].
//   - The program starts itself as a child process to try files that could crash it. So its main
//     begins with [Init], which takes over in such a child.
package penstock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/host/vectors"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"go.opentelemetry.io/otel/trace"
)

// ready says that Init was called.
var ready atomic.Bool

// Init is the first call of main, and of TestMain. In a child process that tries a model or
// compiles a plugin it does that, and ends the process. It cannot be an init function: llama.cpp's
// threads call Go, and such calls wait until main begins.
func Init() {
	spawn.Run(model.Child())
	spawn.Run(compile.Child())
	ready.Store(true)
}

// The names of the small models that are built in. The second one sees.
const (
	BuiltIn       = model.BuiltInName
	BuiltInVision = model.BuiltInVisionName
)

// The types of the packages below that are part of this one.
type (
	Params   = sampling.ParamFields    // sampling parameters, by llama-server's names
	Info     = serving.Info            // what a model is
	Stats    = scheduler.Stats         // how busy it is
	Usage    = scheduler.Usage         // the tokens of a request
	Timing   = scheduler.Timing        // where its time went
	Logprobs = chain.Logprobs          // how likely a token was, and which others were
	Output   = chain.Output            // a value that a plugin has given, in JSON, or a hidden state
	Plugin   = loading.OwnPlugin       // a plugin of a request: its Name, Module or Script, and Config
	Listener = scheduler.Listener      // has Tick, First, Token and Ended called
	Tick     = scheduler.TickRecord    // what the scheduler has done at a time
	Ended    = scheduler.RequestRecord // what has become of a request

	ModelError    = refusal.ModelError    // why a model could not be opened: Model, Err
	RequestError  = refusal.RequestError  // what is wrong with a request: Code, Field, Message
	PromptTooLong = refusal.PromptTooLong // by how much: Tokens, Context
	PluginFault   = refusal.PluginFault   // a plugin has failed, or refuses the request
	Overload      = refusal.Overload      // too much is asked for at a time: Retry says when to try again
)

// ErrClosed is the error of all that is asked of a model after Close.
var ErrClosed = refusal.ErrClosed

// Model is a model in memory. Its methods may be called from any goroutine.
type Model struct {
	alone   *loading.Alone
	service *completion.Service

	mu     sync.Mutex
	closed bool
	live   map[*completion.Live]struct{}
	users  sync.WaitGroup
	free   func() error
}

// settings are what the options of Open have said.
type settings struct {
	values   map[string]any
	config   *config.Config
	log      *slog.Logger
	progress func(done float32)
}

// OpenOption says how a model is opened.
type OpenOption func(*settings)

// Set sets a key of docs/configuration.md, such as "scheduler.slots" (how many answers are computed
// at once), "model.ctx_size", "model.lora" or "plugins.dir". Neither a file nor the environment is
// read. No plugin folder is set, and requests may bring modules and scripts.
func Set(key string, value any) OpenOption { return func(s *settings) { s.values[key] = value } }

// Config takes a configuration that the program has loaded itself, in place of Set. Where Open is
// given no name, its model is opened.
func Config(c config.Config) OpenOption { return func(s *settings) { s.config = new(c) } }

// Log says where log lines go, llama.cpp's among them, for all models of the process. Without it
// there are none.
func Log(log *slog.Logger) OpenOption { return func(s *settings) { s.log = log } }

// Progress is called with 0 to 1 while the weights load.
func Progress(show func(done float32)) OpenOption { return func(s *settings) { s.progress = show } }

// OpenBuiltIn opens the small model that is built in: for tests, and to try things.
func OpenBuiltIn(ctx context.Context, options ...OpenOption) (*Model, error) {
	return Open(ctx, BuiltIn, options...)
}

// Open loads a model: a GGUF file, a name in the model folder, or BuiltIn. A projector beside the
// file is loaded with it, for pictures and sounds. An encoder, such as a BERT, makes embeddings or
// scores only. A new file is tried in a child process first. Open stops soon after ctx is done.
func Open(ctx context.Context, name string, options ...OpenOption) (*Model, error) {
	s := settings{values: map[string]any{"plugins.modules": "on", "plugins.scripts": "on", "plugins.dir": ""}, log: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		option(&s)
	}
	m, err := s.open(ctx, name)
	if err != nil && context.Cause(ctx) == nil {
		err = &ModelError{Model: name, Err: err}
	}
	return m, err
}

func (s *settings) open(ctx context.Context, name string) (*Model, error) {
	if !ready.Load() {
		return nil, errors.New("main has to begin with penstock.Init(): the program starts itself again to try the model")
	}
	c, err := loading.Configured(s.config, name, s.values)
	if err != nil {
		return nil, err
	}
	alone, err := loading.OpenAlone(ctx, c, s.log, s.progress)
	if err != nil {
		return nil, err
	}
	m := &Model{alone: alone, service: completion.NewService(alone), live: map[*completion.Live]struct{}{}}
	alone.Hold = m.hold
	m.free = sync.OnceValue(func() error {
		m.users.Wait()
		return alone.Close()
	})
	m.service.Media = media.NewLoader(loading.MediaBounds(c.Media))
	return m, nil
}

// Close ends all answers and frees the model. It waits for loops over streams, so no such loop may
// call it.
func (m *Model) Close() error {
	m.mu.Lock()
	m.closed = true
	live := slices.Collect(maps.Keys(m.live))
	m.mu.Unlock()
	for _, answer := range live {
		answer.End(scheduler.ErrClosed)
	}
	return m.free()
}

// hold keeps the model in memory until it is released.
func (m *Model) hold() (release func(), _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, scheduler.ErrClosed
	}
	m.users.Add(1)
	return m.users.Done, nil
}

// Info says what the model is and how it is served.
func (m *Model) Info() Info { return m.alone.Core.Model.Info }

// Stats says how busy the model is.
func (m *Model) Stats() Stats { return m.alone.Core.Scheduler.Stats() }

// Listen has a listener told of each tick of the scheduler and of each request, from now on. Its
// functions are called between two ticks: they must be quick and must not use the model.
func (m *Model) Listen(l Listener) (stop func()) { return m.alone.Core.Scheduler.Listen(l) }

// Spans is a listener that makes a span of OpenTelemetry of the time that a request has waited, one
// of its prompt and one of its answer, below the span of the request's context.
func Spans(tracer trace.Tracer) Listener { return telemetry.Spans(tracer) }

// Metrics answers Prometheus as GET /metrics of the server does.
func (m *Model) Metrics() http.Handler {
	return telemetry.NewServer("library").Handler(func() []*telemetry.Metrics { return []*telemetry.Metrics{m.alone.Core.Metrics} })
}

// me is who asks: the program itself, which may do everything.
func me() completion.Caller {
	return completion.Caller{Administers: true, MayRaisePriority: true, MayBringModules: true, TakeScript: func(string, string) error { return nil }}
}

// with does something while the model is in memory.
func (m *Model) with(ctx context.Context, field string, act func() error) error {
	release, err := m.hold()
	if err == nil {
		defer release()
		err = act()
	}
	return completion.Typed(ctx, err, field)
}

// Tokenize turns a text into tokens, the texts of control tokens into these. It adds none.
func (m *Model) Tokenize(ctx context.Context, text string) (tokens []int32, err error) {
	err = m.with(ctx, "text", func() (err error) {
		tokens, err = completion.Work(ctx, m.service, me(), len(text), func(ctx context.Context) ([]int32, error) {
			return m.alone.Core.Model.Encoder().Tokenize(ctx, text, false, true)
		})
		return completion.TextError(err, "text")
	})
	return tokens, err
}

// Detokenize is the text of tokens. Bytes that are not UTF-8 are replaced.
func (m *Model) Detokenize(tokens []int32) (text string, err error) {
	err = m.with(context.Background(), "tokens", func() (err error) {
		text, err = m.alone.Core.Model.Engine.Detokenize(tokens)
		return err
	})
	return text, err
}

// Embed computes an embedding of each text, at most 2,048.
func (m *Model) Embed(ctx context.Context, texts ...string) ([][]float32, error) {
	input, _ := json.Marshal(texts) // texts can always be encoded
	e, err := vectors.Embed(ctx, m.service, vectors.EmbeddingRequest{Caller: me(), Input: input, Field: "texts", OneVector: true})
	if err != nil {
		return nil, completion.Typed(ctx, err, "texts")
	}
	defer e.Release()
	rows := make([][]float32, len(e.Vectors))
	for i, of := range e.Vectors {
		rows[i] = of[0]
	}
	return rows, nil
}

// EmbedStream computes an embedding of each of any number of texts, and gives them in their order.
// Up to 64 are computed at once while the last are read, so texts that come slowly wait for others.
// They are asked for on a goroutine of its own: a loop that is left waits until the next has come.
func (m *Model) EmbedStream(ctx context.Context, texts iter.Seq[string]) iter.Seq2[[]float32, error] {
	return vectors.Stream(ctx, m.service, vectors.EmbeddingRequest{Caller: me(), OneVector: true}, texts)
}

// EmbedTokens gives for each token of a text what the model's last layer makes of it.
func (m *Model) EmbedTokens(ctx context.Context, text string) iter.Seq2[[]float32, error] {
	return vectors.Stream(ctx, m.service, vectors.EmbeddingRequest{Caller: me(), EachToken: true}, slices.Values([]string{text}))
}

// Encode gives the rows that the model reads in place of a picture or a sound.
func (m *Model) Encode(ctx context.Context, file Media) iter.Seq2[[]float32, error] {
	return vectors.Encode(ctx, m.service, me(), cmp.Or(file.Name, "file"), file.Data)
}

// Rank scores how well documents answer a query: higher is better. The model has to be one that
// scores, opened with Set("rerank.enabled", true).
func (m *Model) Rank(ctx context.Context, query string, documents ...string) ([]float32, error) {
	ranks, err := vectors.Rank(ctx, m.service, vectors.RankRequest{Caller: me(), Query: query, Documents: documents})
	if err != nil {
		return nil, completion.Typed(ctx, err, "documents")
	}
	return ranks.Scores, nil
}

// Message is a turn of a conversation.
type Message struct {
	Role       string // system, user, assistant or tool
	Content    string
	Media      []Media    // pictures and sounds, which stand before the content
	Reasoning  string     // of an assistant
	ToolCalls  []ToolCall // of an assistant
	ToolCallID string     // of a tool: which call this is the result of
}

// Media is the file of a picture (JPEG, PNG, GIF, WebP, BMP) or a sound (WAV, MP3).
type Media struct {
	Name string // in errors; "": its place in the conversation
	Data []byte
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID, Name  string
	Arguments string // a JSON object
}

// System is what an assistant is to keep to.
func System(text string) Message { return Message{Role: "system", Content: text} }

// User is what a user says, with pictures and sounds.
func User(text string, files ...[]byte) Message {
	m := Message{Role: "user", Content: text}
	for _, data := range files {
		m.Media = append(m.Media, Media{Data: data})
	}
	return m
}

// Assistant is what the model has said, or is to have said.
func Assistant(text string) Message { return Message{Role: "assistant", Content: text} }

// ToolResult is what came of a call.
func ToolResult(call ToolCall, result string) Message {
	return Message{Role: "tool", Content: result, ToolCallID: call.ID}
}

// Prompt is what a model answers: a Text or a Conversation.
type Prompt interface {
	source(r *request) (_ completion.Source, field string)
}

// Text is a text that the model continues.
type Text string

func (t Text) source(r *request) (completion.Source, string) {
	if r.tools != nil || r.choice != "" {
		r.fail(refusal.Invalid("tools", "tools are for conversations; a text has no place for them"))
	}
	return completion.Text(string(t)), "prompt"
}

// Conversation is a conversation that the model answers, by its chat template.
type Conversation []Message

func (c Conversation) source(r *request) (completion.Source, string) {
	var all chat.Conversation
	files := map[string][]byte{}
	if len(c) == 0 {
		r.fail(refusal.Invalid("messages", "messages is empty; at least one message is needed"))
	}
	for i, m := range c {
		r.fail(chat.CheckRole(m.Role, fmt.Sprintf("messages[%d].Role", i)))
		text := strings.Repeat(media.Marker, len(m.Media)) + m.Content
		to := chat.Message{Role: m.Role, Content: text, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
		for j, file := range m.Media {
			id := strconv.Itoa(len(all.Media))
			files[id] = file.Data
			all.Media = append(all.Media, media.Part{Field: cmp.Or(file.Name, fmt.Sprintf("messages[%d].Media[%d]", i, j)), Source: media.FrameScheme + id})
		}
		for _, call := range m.ToolCalls {
			to.ToolCalls = append(to.ToolCalls, chat.NewToolCall(call.ID, call.Name, call.Arguments))
		}
		all.Messages = append(all.Messages, to)
	}
	if all.Tools = r.tools; r.choice != "" {
		var err error
		all.ToolChoice, err = chat.ChooseByWord(r.choice, r.tools)
		r.fail(err)
	}
	r.asked.Caller.Files = func(id string) []byte { return files[id] }
	return completion.Chat{Conversation: all}, "messages"
}

// request is what the options of a request have said.
type request struct {
	asked   completion.Asked
	tools   []chat.Tool
	choice  string // of tools
	plugins []Plugin
	lora    []map[string]any
	reading completion.Reading
	err     error
}

// Option says how an answer is to be. Options may be used for any number of requests.
type Option func(*request)

// Sampling changes the sampling parameters; what it leaves alone is the model's default.
func Sampling(change func(*Params)) Option {
	return func(r *request) { change(&r.asked.Common.ParamFields) }
}

// Temperature is how freely tokens are drawn; at 0 the likeliest is taken.
func Temperature(t float32) Option { return Sampling(func(p *Params) { p.Temperature = t }) }

// Seed begins the random numbers of the answer.
func Seed(seed int64) Option { return Sampling(func(p *Params) { p.Seed = &seed }) }

// Grammar has the answer follow a grammar in GBNF, with the rule root.
func Grammar(gbnf string) Option { return Sampling(func(p *Params) { p.Grammar = &gbnf }) }

// Schema has the answer be JSON: of a Go value's type, or by a JSON schema where of is a
// json.RawMessage. Tags of fields are those of encoding/json, and jsonschema:"…" for descriptions.
func Schema(of any) Option { return func(r *request) { r.asked.Common.JSONSchema = r.schema(of) } }

func (r *request) schema(of any) json.RawMessage {
	made, err := schema.Of(of)
	if err != nil {
		r.fail(refusal.Invalid("json_schema", "%v", err))
	}
	return made
}

func (r *request) fail(err error) { r.err = cmp.Or(r.err, err) }

// MaxTokens bounds the answer; 0: as many as fit.
func MaxTokens(n int) Option { return func(r *request) { r.asked.Limit = &n } }

// Stop ends the answer before any of the texts.
func Stop(texts ...string) Option { return func(r *request) { r.asked.Stops = texts } }

// TopLogprobs tells how likely each token was, and the n likeliest, 0 to 20.
func TopLogprobs(n int) Option {
	return func(r *request) {
		if r.asked.Logprobs = n; n < 0 || n > 20 {
			r.fail(refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to 20", n))
		}
	}
}

// LogprobRows tells with each token how likely each one of the vocabulary was: Logprobs.Row, by the
// token's number.
func LogprobRows() Option { return func(r *request) { r.asked.Logprobs = chain.AllTokens } }

// HiddenStates gives what a layer made of the text before each token, from 1 or the last one by 0:
// Output.Row of a Token that comes before it. Info.States tells how many layers there are.
func HiddenStates(layer int) Option { return func(r *request) { r.asked.StateLayer = &layer } }

// Raw gives the answer as the model writes it: reasoning and calls are part of the text.
func Raw() Option { return func(r *request) { r.reading.Parts = false } }

// Logits has a function change the logits of each token, before the samplers and plugins see them.
// It is called with the tokens so far, keeps neither list, and holds up its own answer only. Calls
// for one answer never overlap. Logits are finite or -Inf; others and a panic end the answer.
func Logits(change func(tokens []int32, logits []float32)) Option {
	return func(r *request) { r.asked.Logits = loading.CheckedLogits(change) }
}

// Overflow is what becomes of an answer whose reader is 256 tokens behind: "park" has it wait, as
// it does without this; "drop" drops the oldest, which Answer.Missed counts; "cancel" ends it.
func Overflow(policy string) Option {
	return func(r *request) {
		var err error
		r.reading.Overflow, err = completion.ReadOverflow(policy)
		r.fail(err)
	}
}

// Tool is a function that the model may have the program call.
type Tool struct {
	Name        string
	Description string
	Parameters  any // a Go value, whose type they have, or a JSON schema as a json.RawMessage; nil: none
}

// Tools offers tools to the model. The answer's ToolCalls say what it calls.
func Tools(tools ...Tool) Option {
	return func(r *request) {
		var raw []json.RawMessage
		for _, t := range tools {
			function := map[string]any{"name": t.Name, "description": t.Description}
			if t.Parameters != nil {
				function["parameters"] = r.schema(t.Parameters)
			}
			one, err := json.Marshal(map[string]any{"type": "function", "function": function})
			r.fail(err)
			raw = append(raw, one)
		}
		var err error
		r.tools, _, err = chat.ParseTools(raw, false)
		r.fail(err)
	}
}

// ToolChoice is whether tools are called: "auto", "none", "required", or the name of one.
func ToolChoice(mode string) Option { return func(r *request) { r.choice = mode } }

// Plugins uses plugins for the answer, in this order.
func Plugins(plugins ...Plugin) Option { return func(r *request) { r.plugins = plugins } }

// Lora has a LoRA adapter count, which was opened with Set("model.lora", …): with 1 as it was
// trained. It may be given for several.
func Lora(name string, scale float32) Option {
	return func(r *request) {
		var err error
		r.lora = append(r.lora, map[string]any{"name": name, "scale": scale})
		r.asked.Common.Lora, err = json.Marshal(r.lora)
		r.fail(err)
	}
}

// Generate continues a text.
func (m *Model) Generate(ctx context.Context, prompt string, options ...Option) (Answer, error) {
	return m.whole(ctx, Text(prompt), options)
}

// Chat answers a conversation.
func (m *Model) Chat(ctx context.Context, messages []Message, options ...Option) (Answer, error) {
	return m.whole(ctx, Conversation(messages), options)
}

func (m *Model) whole(ctx context.Context, prompt Prompt, options []Option) (Answer, error) {
	l, err := m.Live(ctx, prompt, options...)
	if err != nil {
		return Answer{}, err
	}
	return l.Answer()
}

// Stream continues a text, token by token. The request begins with the loop.
func (m *Model) Stream(ctx context.Context, prompt string, options ...Option) iter.Seq2[Token, error] {
	return m.stream(ctx, Text(prompt), options)
}

// ChatStream answers a conversation, token by token. The request begins with the loop.
func (m *Model) ChatStream(ctx context.Context, messages []Message, options ...Option) iter.Seq2[Token, error] {
	return m.stream(ctx, Conversation(messages), options)
}

func (m *Model) stream(ctx context.Context, prompt Prompt, options []Option) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		l, err := m.Live(ctx, prompt, options...)
		if err != nil {
			yield(Token{ID: -1}, err)
			return
		}
		l.Tokens()(yield)
	}
}

// Live begins an answer that can be steered while it is written.
func (m *Model) Live(ctx context.Context, prompt Prompt, options ...Option) (*Live, error) {
	r := &request{reading: completion.Reading{Parts: true},
		asked: completion.Asked{Caller: me(), Common: completion.DefaultCommonFields(), Answers: completion.OneAnswer()}}
	for _, option := range options {
		option(r)
	}
	r.asked.Source, r.asked.PromptField = prompt.source(r)
	if r.err == nil {
		r.err = m.with(ctx, "plugins", func() (err error) {
			r.asked.Common.Plugins, err = m.alone.Plugins.Entries(ctx, r.plugins)
			return err
		})
	}
	if r.err != nil {
		return nil, completion.Typed(ctx, r.err, r.asked.PromptField)
	}
	prompted, err := m.service.Prompt(ctx, r.asked)
	return m.submit(ctx, prompted, r.reading, err)
}

// submit has a request computed, if it could be made.
func (m *Model) submit(ctx context.Context, p *completion.Prompted, reading completion.Reading, err error) (*Live, error) {
	if err != nil {
		return nil, completion.Typed(ctx, err, "prompt")
	}
	submitted, err := m.service.Submit(ctx, p, reading)
	if err != nil {
		field := p.PromptField
		p.Release()
		return nil, completion.Typed(ctx, err, field)
	}
	m.mu.Lock()
	answer := completion.NewLive(ctx, submitted, func(a *completion.Live) {
		m.mu.Lock()
		delete(m.live, a)
		m.mu.Unlock()
	})
	m.live[answer] = struct{}{}
	if m.closed {
		defer answer.End(scheduler.ErrClosed)
	}
	m.mu.Unlock()
	l := &Live{m, reading, answer}
	runtime.AddCleanup(l, func(answer *completion.Live) { answer.End(nil) }, answer)
	return l, nil
}

// Token is what an answer gains.
type Token struct {
	ID        int32  // in the vocabulary; -1: it is text that had to wait, or the end
	Text      string // of the content; empty while it may be the begin of something else
	Reasoning string
	ToolCalls []chat.CallDelta // begun or continued
	Logprobs  *Logprobs        // with TopLogprobs or LogprobRows
	Output    *Output          // of a plugin, or a hidden state

	// TakenBack is how many of the last tokens the answer has no more, after Rewind. Text, Reasoning
	// and ToolCalls are then all that is left of it.
	TakenBack int

	End *Answer // the whole answer, with the last token of a stream; else nil
}

// Answer is a whole answer.
type Answer struct {
	Text         string
	Reasoning    string
	ToolCalls    []ToolCall
	Tokens       []int32
	Outputs      []Output // of plugins
	FinishReason string   // stop, length, tool_calls, cancelled; "" if it failed
	StopType     string   // what ended it: eos (the model), word, plugin, limit, none (a cancelled one); "" if it failed
	Stop         string   // the text of Stop that ended it
	StoppedBy    string   // the plugin that ended it
	Missed       uint64   // tokens and the like that were dropped, with Overflow
	Usage        Usage
	Timing       Timing
}

// Message is the answer as a turn of the conversation.
func (a Answer) Message() Message {
	return Message{Role: "assistant", Content: a.Text, Reasoning: a.Reasoning, ToolCalls: a.ToolCalls}
}

// Live is an answer that is being written. Its methods may be called from any goroutine, but one
// reads at a time. One that is dropped ends.
type Live struct {
	model   *Model
	reading completion.Reading
	answer  *completion.Live
}

// Tokens reads the answer. A loop that is left ends it; there is nothing to read then.
func (l *Live) Tokens() iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		defer runtime.KeepAlive(l)
		var t Token
		err := l.answer.Read(func(d *completion.Delta) bool { return !l.told(&t, d) || yield(t, nil) })
		if err != nil {
			yield(Token{ID: -1}, err)
		}
	}
}

// Drain reads what has come into tokens, as much as has room there, and returns how many that are.
// It waits for the first, and allocates for none. After the end, the error is io.EOF. Whoever does
// not read to the end calls Cancel.
func (l *Live) Drain(tokens []Token) (n int, err error) { return l.drain(tokens, true) }

// TryDrain is Drain without waiting: n is 0 where nothing has come.
func (l *Live) TryDrain(tokens []Token) (n int, err error) { return l.drain(tokens, false) }

func (l *Live) drain(tokens []Token, wait bool) (n int, err error) {
	defer runtime.KeepAlive(l)
	for more := len(tokens) > 0; more && n == 0 && err == nil; more = wait { // the first may tell nothing
		err = l.answer.Drain(wait, func(d *completion.Delta) bool {
			if l.told(&tokens[n], d) {
				n++
			}
			return n < len(tokens)
		})
	}
	if n > 0 {
		return n, nil // an error is told the next time
	}
	return 0, err
}

// Answer reads what is left of the answer, and returns all of it: as far as it came where there is
// an error.
func (l *Live) Answer() (Answer, error) {
	defer runtime.KeepAlive(l)
	err := l.answer.Read(func(*completion.Delta) bool { return true })
	if errors.Is(err, completion.ErrRead) {
		return Answer{}, err
	}
	return l.whole(err), err
}

// told makes t what a delta tells, and reports whether that is anything.
func (l *Live) told(t *Token, d *completion.Delta) bool {
	e := &d.Event
	*t = Token{ID: -1, Text: d.Content, Reasoning: d.Reasoning, ToolCalls: d.Calls, Output: e.Output}
	switch e.Kind {
	case scheduler.KindToken:
		t.ID, t.Logprobs = e.Token, e.Logprobs
	case scheduler.KindRewound:
		t.TakenBack = e.Rewound.Tokens
	case scheduler.KindEnd:
		whole := l.whole(nil)
		t.End = &whole
	default:
		return t.Output != nil || !d.Empty()
	}
	return true
}

// whole is the answer as far as it was read.
func (l *Live) whole(err error) Answer {
	c, w := l.answer.Choice, &l.answer.Whole
	a := Answer{Text: w.Content.String(), Reasoning: w.Reasoning.String(), Tokens: slices.Clone(c.Tokens), Outputs: slices.Clone(c.Outputs),
		Stop: c.End.Stop, Missed: c.Missed(), Usage: c.End.Usage, Timing: c.End.Timing}
	for _, call := range w.Calls {
		a.ToolCalls = append(a.ToolCalls, ToolCall{call.ID, call.Name, call.Arguments})
	}
	if err == nil && c.End.Reason != 0 {
		a.FinishReason, a.StopType, a.StoppedBy = c.FinishReason(), c.StopType(), c.StoppedBy()
	}
	return a
}

// Cancel ends the answer.
func (l *Live) Cancel() { l.answer.Choice.Stream.Cancel() }

// steer does something to the running answer.
func (l *Live) steer(ctx context.Context, field string, act func(*completion.Service, *completion.Choice) error) error {
	defer runtime.KeepAlive(l)
	return l.model.with(ctx, field, func() error { return act(l.model.service, l.answer.Choice) })
}

// Pause keeps the answer from growing until Resume. Its slot goes to others that wait for one.
func (l *Live) Pause(ctx context.Context) error {
	return l.steer(ctx, "", func(_ *completion.Service, c *completion.Choice) error { return c.Stream.Pause(ctx) })
}

// Resume undoes Pause.
func (l *Live) Resume(ctx context.Context) error {
	return l.steer(ctx, "", func(_ *completion.Service, c *completion.Choice) error { return c.Stream.Resume(ctx) })
}

// Rewind takes back the last n tokens; the next one is drawn in their place.
func (l *Live) Rewind(ctx context.Context, n int) error {
	return l.steer(ctx, "tokens", func(_ *completion.Service, c *completion.Choice) error { return c.Rewind(ctx, n) })
}

// Inject adds a text to the answer, as if the model had written it. It waits for a reader that is
// behind, so the loop that reads does not call it: another goroutine does.
func (l *Live) Inject(ctx context.Context, text string) error {
	return l.steer(ctx, "text", func(s *completion.Service, c *completion.Choice) error { return s.Inject(ctx, c, text) })
}

// Set changes sampling parameters, from the next token on.
func (l *Live) Set(ctx context.Context, change func(*Params)) error {
	return l.steer(ctx, "sampling", func(s *completion.Service, c *completion.Choice) error {
		return s.Set(ctx, c, 0, func(p *Params) error { change(p); return nil })
	})
}

// Fork begins another answer that goes on from where this one is, with a seed of its own and with
// its sampling parameters as change changes them; nil: with the same. The fork ends with ctx.
func (l *Live) Fork(ctx context.Context, change func(*Params)) (fork *Live, err error) {
	err = l.steer(ctx, "sampling", func(s *completion.Service, c *completion.Choice) error {
		prompted, err := s.Fork(ctx, c.Request, c.Stream, 0, func(p *Params) error {
			if change != nil {
				change(p)
			}
			return nil
		})
		fork, err = l.model.submit(ctx, prompted, l.reading, err)
		return err
	})
	return fork, err
}
