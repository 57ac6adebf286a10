// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Usage is OpenAI's.
type Usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
		Audio  int `json:"audio_tokens,omitempty"`
		Image  int `json:"image_tokens,omitempty"` // an addition of ours
	} `json:"prompt_tokens_details"`
	CompletionDetails *completionDetails `json:"completion_tokens_details,omitempty"`
}

// completionDetails are which of the tokens are reasoning, and what an answer that a program writes
// has cost besides its tokens.
type completionDetails struct {
	Reasoning int `json:"reasoning_tokens"`
	Branch    int `json:"branch_tokens,omitempty"`
}

// UsageOf sums the choices of a request; a prompt counts once, however many choices it has.
func UsageOf(choices []*completion.Choice, n int) Usage {
	var u Usage
	beside, reasoning := 0, 0
	for i, c := range choices {
		beside += c.End.Usage.Beside()
		reasoning += c.ReasoningTokens()
		u.Completion += c.End.Usage.Generated
		if i%n == 0 {
			u.Prompt += c.End.Usage.Prompt
			u.Details.Cached += c.End.Usage.Cached
		}
	}
	if len(choices) > 0 && choices[0].Request != nil {
		r := choices[0].Request
		u.Details.Audio, u.Details.Image = r.MediaTokens(media.Audio), r.MediaTokens(media.Image)
	}
	if u.Total = u.Prompt + u.Completion; beside+reasoning > 0 {
		u.CompletionDetails = &completionDetails{reasoning, beside}
	}
	return u
}

// Timings is llama-server's, with the time in the queue.
type Timings struct {
	QueuedMS           float64 `json:"queued_ms"`
	CacheN             int     `json:"cache_n"`
	PromptN            int     `json:"prompt_n"`
	PromptMS           float64 `json:"prompt_ms"`
	PromptPerTokenMS   float64 `json:"prompt_per_token_ms"`
	PromptPerSecond    float64 `json:"prompt_per_second"`
	PredictedN         int     `json:"predicted_n"`
	PredictedMS        float64 `json:"predicted_ms"`
	PredictedPerToken  float64 `json:"predicted_per_token_ms"`
	PredictedPerSecond float64 `json:"predicted_per_second"`
	DraftN             int     `json:"draft_n,omitempty"` // tokens that were guessed
	DraftNAccepted     *int    `json:"draft_n_accepted,omitempty"`
	BranchN            int     `json:"branch_n,omitempty"` // tokens that a program has had computed besides
}

// Progress is llama-server's: how far a prompt is computed.
type Progress struct {
	Total     int   `json:"total"`
	Cache     int   `json:"cache"`
	Processed int   `json:"processed"`
	TimeMS    int64 `json:"time_ms"`
}

// Measured is what a frame tells of the answer's pace, if its client has asked for that.
type Measured struct {
	Timings  *Timings  `json:"timings,omitempty"`
	Progress *Progress `json:"prompt_progress,omitempty"`
}

// Measures is m itself, to be read or set in a frame that has it.
func (m *Measured) Measures() *Measured { return m }

// TimingsOf describes how long an answer took.
func TimingsOf(e scheduler.End) Timings {
	t := Timings{
		QueuedMS:    milliseconds(e.Timing.Queued),
		CacheN:      e.Usage.Cached,
		PromptN:     e.Usage.Prompt - e.Usage.Cached,
		PromptMS:    milliseconds(e.Timing.Prefill),
		PredictedN:  e.Usage.Generated,
		PredictedMS: milliseconds(e.Timing.Decode),
		BranchN:     e.Usage.Beside(),
	}
	if t.DraftN = e.Usage.Drafted; t.DraftN > 0 {
		t.DraftNAccepted = &e.Usage.Accepted
	}
	t.PromptPerTokenMS, t.PromptPerSecond = rates(t.PromptN, t.PromptMS)
	t.PredictedPerToken, t.PredictedPerSecond = rates(t.PredictedN, t.PredictedMS)
	return t
}

// rates are 0 if there is nothing to divide by: JSON has no infinity.
func rates(n int, ms float64) (perToken, perSecond float64) {
	if n <= 0 || ms <= 0 {
		return 0, 0
	}
	return ms / float64(n), 1000 * float64(n) / ms
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// SaidIn describes the tokens of the content that an event adds, as far as its request has asked
// for that.
func SaidIn(c *completion.Choice, d completion.Delta) (said []TokenProb) {
	for _, e := range d.Said {
		if p, ok := Probability(c.Request.Model.Engine, e); ok {
			said = append(said, p)
		}
	}
	return said
}

// Details are what a client may want to know of tokens besides their text.
type Details struct {
	Probs    []TokenProb
	Traces   []TokenTrace
	Branches Branches
}

// DetailsOf describes the token of an event as far as its request has asked for that.
func DetailsOf(c *completion.Choice, d completion.Delta) (out Details) {
	engine := c.Request.Model.Engine
	if p, ok := Probability(engine, d.Event); ok {
		out.Probs = []TokenProb{p}
	}
	if token, trace := tracedIn(d.Event); trace != nil && c.Request.Params.Trace {
		out.Traces = []TokenTrace{*TraceOf(engine, token, trace)}
	}
	if c.Request.Params.Trace {
		out.Branches = BranchesOf(engine, d.Event)
	}
	return out
}

// tracedIn is the trace that an event has, and its token: that of the end is the token that ended
// the answer. nil if it has none.
func tracedIn(e scheduler.Event) (scheduler.Token, *chain.Trace) {
	if e.Kind == scheduler.KindEnd && e.End.EndToken != nil {
		return e.End.EndToken.Token, e.End.EndToken.Trace
	}
	return e.Token, e.Trace
}

// leastLogprob stands for the logarithm of nothing, which JSON cannot write; OpenAI uses the same.
const leastLogprob = -9999

// TokenProb is a token with its log-probability, in OpenAI's chat shape with llama-server's id.
type TokenProb struct {
	ID      scheduler.Token `json:"id"`
	Token   string          `json:"token"`
	Bytes   []int           `json:"bytes"`
	Logprob float32         `json:"logprob"`
	Top     []TokenProb     `json:"top_logprobs,omitempty"`
}

// Probability describes the token of e and its alternatives. ok is false where the request asked
// for none.
func Probability(engine serving.Engine, e scheduler.Event) (p TokenProb, ok bool) {
	if e.Logprobs == nil {
		return p, false
	}
	p = tokenProb(engine, e.Token, e.Logprobs.Token)
	for _, c := range e.Logprobs.Top {
		p.Top = append(p.Top, tokenProb(engine, c.Token, c.Logprob))
	}
	return p, true
}

// PromptProbabilities describes tokens of a prompt.
func PromptProbabilities(engine serving.Engine, tokens []scheduler.PromptToken) (all []TokenProb) {
	for _, t := range tokens {
		p, _ := Probability(engine, scheduler.Event{Token: t.Token, Logprobs: t.Logprobs})
		all = append(all, p)
	}
	return all
}

func tokenProb(engine serving.Engine, t scheduler.Token, logprob float32) TokenProb {
	piece := engine.Piece(t)
	if !(logprob >= leastLogprob) { // NaN and −Inf too
		logprob = leastLogprob
	}
	bytes := make([]int, len(piece))
	for i := range len(piece) {
		bytes[i] = int(piece[i])
	}
	return TokenProb{ID: t, Token: piece, Bytes: bytes, Logprob: logprob}
}

// client is who injected or took back what no stage did.
const client = "client"

// TokenTrace is how a token came into an answer: who put it there, what the chain found and what
// each stage left of it.
type TokenTrace struct {
	ID        scheduler.Token `json:"id"`
	Token     string          `json:"token"`
	How       string          `json:"how"` // see chain.Origin
	By        string          `json:"by"`
	Before    survey          `json:"before"`
	Prepared  []preparedTrace `json:"prepared,omitempty"`
	Stages    []stageTrace    `json:"stages"`
	Accepted  []timed         `json:"accepted,omitempty"`
	Notes     []note          `json:"notes,omitempty"`
	TakenBack []takenBack     `json:"taken_back,omitempty"`
}

type note struct {
	By   string `json:"by"`
	Text string `json:"text"`
}

type timed struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

type preparedTrace struct {
	timed
	Allowed *int `json:"allowed,omitempty"`
	Banned  int  `json:"banned,omitempty"`
	Biased  int  `json:"biased,omitempty"`
}

type stageTrace struct {
	timed
	After survey `json:"after"`
}

// survey describes the candidates at one point of the chain: how many there are, and the most
// likely of them.
type survey struct {
	N      int         `json:"n"`
	Best   []candidate `json:"best"`
	Chosen *place      `json:"chosen,omitempty"` // where the token stands that the answer got; absent if it is no candidate
}

type candidate struct {
	ID    scheduler.Token `json:"id"`
	Token string          `json:"token"`
	Logit float32         `json:"logit"`
	P     float32         `json:"p"`
}

type place struct {
	Rank  int     `json:"rank"`
	Logit float32 `json:"logit"`
	P     float32 `json:"p"`
}

type takenBack struct {
	By     string       `json:"by"`
	Text   string       `json:"text"`
	Tokens []takenToken `json:"tokens"`
}

type takenToken struct {
	ID    scheduler.Token `json:"id"`
	Token string          `json:"token"`
	Trace *TokenTrace     `json:"trace,omitempty"`
}

// TraceOf describes how a token came into an answer; nil where the request did not ask.
func TraceOf(engine serving.Engine, token scheduler.Token, t *chain.Trace) *TokenTrace {
	if t == nil {
		return nil
	}
	out := &TokenTrace{ID: token, Token: engine.Piece(token), How: t.How.String(), By: nameOf(t.By), Before: surveyOf(engine, t.Before),
		Stages: make([]stageTrace, len(t.Stages)), Accepted: make([]timed, len(t.Accepted))}
	for i, st := range t.Stages {
		out.Stages[i] = stageTrace{timedOf(chain.Timed{Name: st.Name, Took: st.Took}), surveyOf(engine, st.After)}
	}
	for i, a := range t.Accepted {
		out.Accepted[i] = timedOf(a)
	}
	for _, n := range t.Notes {
		out.Notes = append(out.Notes, note{n.By, n.Text})
	}
	for _, p := range t.Prepared {
		one := preparedTrace{timed: timedOf(p.Timed), Banned: p.Banned, Biased: p.Biased}
		if p.Allowed >= 0 {
			one.Allowed = &p.Allowed
		}
		out.Prepared = append(out.Prepared, one)
	}
	for _, back := range t.TakenBack {
		out.TakenBack = append(out.TakenBack, takenBackOf(engine, back))
	}
	return out
}

func takenBackOf(engine serving.Engine, back chain.TakenBack) takenBack {
	out := takenBack{By: nameOf(back.By), Tokens: make([]takenToken, len(back.Tokens))}
	var text strings.Builder // the pieces of one character may be those of several tokens
	for i, taken := range back.Tokens {
		text.WriteString(engine.Piece(taken.Token))
		out.Tokens[i] = takenToken{taken.Token, engine.Piece(taken.Token), TraceOf(engine, taken.Token, taken.Trace)}
	}
	out.Text = text.String()
	return out
}

func nameOf(by string) string {
	if by == "" {
		return client
	}
	return by
}

func timedOf(t chain.Timed) timed { return timed{t.Name, milliseconds(t.Took)} }

func surveyOf(engine serving.Engine, v chain.Survey) survey {
	out := survey{N: v.Count, Best: make([]candidate, len(v.Best))}
	for i, b := range v.Best {
		out.Best[i] = candidate{ID: b.Token, Token: engine.Piece(b.Token), Logit: finiteLogit(b.Logit), P: b.P}
	}
	if c := v.Chosen; c.Rank > 0 {
		out.Chosen = &place{c.Rank, finiteLogit(c.Logit), c.P}
	}
	return out
}

// finiteLogit makes a logit one that JSON can have: a plugin can choose a token that was banned.
func finiteLogit(logit float32) float32 {
	if math.Abs(float64(logit)) <= math.MaxFloat32 {
		return logit
	}
	return leastLogprob
}

// Branches tell of those of a program that writes an answer with a trace.
type Branches struct {
	Branches []Branch `json:"branches,omitempty"`
	LeftOut  int      `json:"branches_left_out,omitempty"` // tokens that are not told
}

// Branch is what has become of a branch since its last entry. See program.Grown.
type Branch struct {
	Branch  int           `json:"branch"`
	Parent  int           `json:"parent,omitempty"`
	At      *int          `json:"at,omitempty"`
	Tokens  []BranchToken `json:"tokens,omitempty"`
	Score   *float64      `json:"score,omitempty"`
	Dropped bool          `json:"dropped,omitempty"`
	Chosen  int           `json:"chosen,omitempty"`
	Choice  *int          `json:"choice,omitempty"`
}

// BranchToken is a token of a branch. A row of a picture or a sound is noToken and has no text.
type BranchToken struct {
	ID      scheduler.Token `json:"id"`
	Token   string          `json:"token"`
	Logprob *float32        `json:"logprob,omitempty"`
}

// noToken stands for a row of a picture or a sound, whose number is the scheduler's own.
const noToken scheduler.Token = -1

// BranchesOf describes those of an event; nothing where it has none.
func BranchesOf(engine serving.Engine, e scheduler.Event) (b Branches) {
	if e.Branches == nil {
		return b
	}
	b.LeftOut = e.Branches.LeftOut
	for i := range e.Branches.Grown {
		b.Branches = append(b.Branches, branchOf(engine, &e.Branches.Grown[i]))
	}
	return b
}

func branchOf(engine serving.Engine, g *program.Grown) Branch {
	b := Branch{Branch: g.Branch, Parent: g.Parent, Score: finiteScore(g.Score), Dropped: g.Dropped, Chosen: g.Chosen}
	if g.First {
		b.At = &g.At
	}
	if g.Chosen > 0 {
		b.Choice = &g.Choice
	}
	for i, t := range g.Tokens {
		one := BranchToken{ID: max(t, noToken), Token: engine.Piece(t)}
		if l := g.Logprobs[i]; l == l {
			l = max(l, leastLogprob)
			one.Logprob = &l
		}
		b.Tokens = append(b.Tokens, one)
	}
	return b
}

// finiteScore is a score as JSON can have it: a program may go on with a token that is impossible.
func finiteScore(score *float64) *float64 {
	if score == nil || *score >= leastLogprob {
		return score
	}
	least := float64(leastLogprob)
	return &least
}

// add appends what another tells.
func (b *Branches) add(more Branches) {
	b.Branches, b.LeftOut = append(b.Branches, more.Branches...), max(b.LeftOut, more.LeftOut)
}

// IsEmpty reports whether they tell nothing.
func (b *Branches) IsEmpty() bool { return len(b.Branches) == 0 && b.LeftOut == 0 }

// PluginOutput is a value that a plugin gave for the client.
type PluginOutput struct {
	Plugin string          `json:"plugin"`
	Tokens int             `json:"tokens"` // that the answer had then
	Value  json.RawMessage `json:"value"`
}

// OutputOf describes a value of a plugin.
func OutputOf(o chain.Output) PluginOutput {
	return PluginOutput{Plugin: completion.PluginOf(o.By), Tokens: o.Tokens, Value: o.Value}
}

// OutputsOf describes the values that a choice has; nil if there are none.
func OutputsOf(c *completion.Choice) (list []PluginOutput) {
	for _, o := range c.Outputs {
		list = append(list, OutputOf(o))
	}
	return list
}

// CallDelta is the begin of a tool call, with its id and name, or more of its arguments, as OpenAI
// sends it. One of Function and Custom is there.
type CallDelta struct {
	Index    int            `json:"index"`
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty"`
	Function *FunctionDelta `json:"function,omitempty"`
	Custom   *CustomDelta   `json:"custom,omitempty"`
}

// FunctionDelta is what a delta adds to the call of a function.
type FunctionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// CustomDelta is what a delta adds to the call of a custom tool.
type CustomDelta struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// CallDeltas is what an answer gains in tool calls.
func CallDeltas(calls []completion.CallDelta) []CallDelta {
	var out []CallDelta
	for _, call := range calls {
		d := CallDelta{Index: call.Index, ID: call.ID}
		if call.Custom {
			d.Type, d.Custom = "custom", &CustomDelta{call.Name, call.Arguments}
		} else {
			d.Type, d.Function = "function", &FunctionDelta{call.Name, call.Arguments}
		}
		if call.Name == "" {
			d.Type = ""
		}
		out = append(out, d)
	}
	return out
}

// Call is a whole tool call, as OpenAI has it.
type Call struct {
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type"`
	Function *FunctionDelta `json:"function,omitempty"`
	Custom   *CustomDelta   `json:"custom,omitempty"`
}

// CallsOf are the tool calls of an answer.
func CallsOf(w *Whole) []Call {
	var out []Call
	for _, d := range CallDeltas(w.Calls) {
		out = append(out, Call{d.ID, d.Type, d.Function, d.Custom})
	}
	return out
}
