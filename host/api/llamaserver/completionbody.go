// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"
	"math"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
)

// completionBody is POST /completion.
type completionBody struct {
	completion.CommonFields
	Model  string          `json:"model"`
	Prompt json.RawMessage `json:"prompt"`
	Stop   json.RawMessage `json:"stop"`

	// Three names of one thing; the first that is there counts.
	NPredict            *int `json:"n_predict"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxTokens           *int `json:"max_tokens"`

	// Two names of one thing, and of another.
	NCmpl    *int `json:"n_cmpl"`
	N        *int `json:"n"`
	NProbs   *int `json:"n_probs"`
	Logprobs *int `json:"logprobs"`

	PostSamplingProbs bool   `json:"post_sampling_probs"`
	NKeep             *int   `json:"n_keep"`
	NDiscard          int    `json:"n_discard"`
	NIndent           int    `json:"n_indent"`
	TMaxPredictMS     int64  `json:"t_max_predict_ms"`
	IDSlot            *int   `json:"id_slot"`
	NCacheReuse       int    `json:"n_cache_reuse"`
	ReasoningFormat   string `json:"reasoning_format"`
	BackendSampling   bool   `json:"backend_sampling"`

	Stream          bool     `json:"stream"`
	SSEPingInterval int      `json:"sse_ping_interval"`
	ResponseFields  []string `json:"response_fields"`
	ReturnTokens    bool     `json:"return_tokens"`
	ReturnProgress  bool     `json:"return_progress"`
	TimingsPerToken bool     `json:"timings_per_token"`
	Verbose         bool     `json:"verbose"`
}

func defaultBody() completionBody {
	return completionBody{CommonFields: completion.DefaultCommonFields(), TMaxPredictMS: -1, ReasoningFormat: "deepseek"}
}

func (a API) completion(c echo.Context) error {
	b := defaultBody()
	size, err := wire.ReadBody(c, &b)
	if err != nil {
		return err
	}
	return a.complete(c, &b, size, completion.Texts{JSON: b.Prompt})
}

// infillBody is POST /infill: a completion whose prompt is made of what surrounds a gap.
type infillBody struct {
	completionBody
	Prompt *string           `json:"prompt"`
	Prefix *string           `json:"input_prefix"`
	Suffix *string           `json:"input_suffix"`
	Extra  []completion.File `json:"input_extra"`
}

// infill fills in the middle.
func (a API) infill(c echo.Context) error {
	b := infillBody{completionBody: defaultBody()}
	size, err := wire.ReadBody(c, &b)
	if err != nil {
		return err
	}
	gap := completion.Infill{Prefix: b.Prefix, Suffix: b.Suffix, Extra: b.Extra}
	if b.Prompt != nil {
		gap.Prompt = *b.Prompt
	}
	return a.complete(c, &b.completionBody, size, gap)
}

// complete answers a completion.
func (a API) complete(c echo.Context, b *completionBody, size int, prompt completion.Source) error {
	if err := b.check(); err != nil {
		return err
	}
	b.fit()
	asked, err := b.asked(wire.CallerOf(c), size, prompt)
	if err != nil {
		return err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	return a.Answer(c, r, newCompletionShape(r, b), b.Stream)
}

// check refuses what is out of range, besides what completion does.
func (b *completionBody) check() error {
	for _, f := range []struct {
		name      string
		value     *int
		low, high int
	}{
		{"n_predict", b.NPredict, -1, math.MaxInt32}, {"max_completion_tokens", b.MaxCompletionTokens, -1, math.MaxInt32},
		{"max_tokens", b.MaxTokens, -1, math.MaxInt32}, {"n_keep", b.NKeep, -1, math.MaxInt32}, {"n_discard", &b.NDiscard, 0, math.MaxInt32},
		{"n_indent", &b.NIndent, 0, math.MaxInt32}, {"n_cache_reuse", &b.NCacheReuse, 0, math.MaxInt32},
		{"sse_ping_interval", &b.SSEPingInterval, -1, math.MaxInt32}, {"n_probs", b.NProbs, math.MinInt32, mostProbs},
		{"logprobs", b.Logprobs, math.MinInt32, mostProbs},
	} {
		if f.value != nil && (*f.value < f.low || *f.value > f.high) {
			return refusal.Invalid(f.name, "%s is %d; it must be from %d to %d", f.name, *f.value, f.low, f.high)
		}
	}
	if b.TMaxPredictMS < -1 {
		return refusal.Invalid("t_max_predict_ms", "t_max_predict_ms is %d; it must be at least -1", b.TMaxPredictMS)
	}
	if b.DrySequenceBreakers != nil && len(b.DrySequenceBreakers) == 0 {
		return refusal.Invalid("dry_sequence_breakers", "dry_sequence_breakers is empty; it must be a list of texts, or be left out")
	}
	switch b.ReasoningFormat {
	case "none", "auto", "deepseek", "deepseek-legacy":
		return nil
	}
	return refusal.Invalid("reasoning_format", "reasoning_format is %q; it must be none, auto, deepseek or deepseek-legacy", b.ReasoningFormat)
}

// The bounds of the alternatives reported with each token: before the sampler chain, and after it,
// where each sampler is looked at.
const (
	mostProbs      = 1000
	mostCandidates = 100
)

// fit moves sampling parameters into their ranges where llama-server does so. Fields that are not
// given stay unset: it is no number.
func (b *completionBody) fit() {
	unit := func(v float32) float32 { return max(0, min(v, 1)) }
	if b.TopK != sampling.Unset {
		b.TopK = max(0, b.TopK)
	}
	if b.Mirostat != sampling.Unset {
		b.Mirostat = max(0, min(b.Mirostat, 2))
	}
	b.TopP, b.MinP = unit(b.TopP), unit(b.MinP)
	b.XTCProbability, b.XTCThreshold = unit(b.XTCProbability), unit(b.XTCThreshold)
	b.Temperature, b.AdaptiveTarget = max(0, b.Temperature), max(-1, min(b.AdaptiveTarget, 1))
	if b.DryBase < 1 {
		b.DryBase = sampling.UnsetFields().DryBase
	}
}

// asked is the request that a body of size bytes is.
func (b *completionBody) asked(from completion.Caller, size int, prompt completion.Source) (completion.Asked, error) {
	a := completion.Asked{Caller: from, ModelName: b.Model, PromptField: "prompt", Common: b.CommonFields, Size: size, Source: prompt}
	a.Answers = completion.Answers{PerPrompt: first(1, b.NCmpl, b.N), OnePerSlot: "n_cmpl", Logprobs: -1, Keep: b.NKeep, Discard: b.NDiscard, Progress: b.ReturnProgress && b.Stream}
	if b.NCmpl == nil {
		a.OnePerSlot = "n"
	}
	if n := b.limit(); n >= 0 {
		n = max(1, n) // as llama-server does
		a.Limit = &n
	}
	if b.IDSlot != nil && *b.IDSlot != -1 {
		a.Slot = b.IDSlot
	}
	if n := max(0, first(0, b.NProbs, b.Logprobs)); n > 0 {
		a.Logprobs = n
		if b.PostSamplingProbs {
			a.Candidates = n
		}
		if a.Candidates > mostCandidates {
			return a, refusal.Invalid("n_probs", "n_probs is %d; with post_sampling_probs it must be at most %d", n, mostCandidates)
		}
	}
	if most := time.Duration(b.TMaxPredictMS) * time.Millisecond; b.NIndent > 0 || most > 0 {
		a.Lines = completion.LineRule{Indent: b.NIndent, Most: max(0, most), Stream: b.Stream}
	}
	var err error
	a.Stops, err = completion.ReadStops(b.Stop, "stop")
	return a, err
}

// limit is how many tokens to generate: -1 for as many as the server allows.
func (b *completionBody) limit() int {
	return first(-1, b.NPredict, b.MaxCompletionTokens, b.MaxTokens)
}

// first is the first value that is there.
func first(otherwise int, values ...*int) int {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return otherwise
}
