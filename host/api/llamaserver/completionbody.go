// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/answer"
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
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	b := defaultBody()
	if err := wire.Decode(body, &b); err != nil {
		return err
	}
	return a.complete(c, &b, len(body), func(ctx context.Context, r *completion.TextRequest) error { return r.ReadPrompts(ctx, b.Prompt) })
}

// complete answers a completion whose prompts a function gives it.
func (a API) complete(c echo.Context, b *completionBody, size int, prompts func(context.Context, *completion.TextRequest) error) error {
	if err := b.check(); err != nil {
		return err
	}
	b.fit()
	asked := completion.TextRequest{Caller: wire.CallerOf(c), ModelName: b.Model, PromptField: "prompt", Common: &b.CommonFields, Size: size,
		Pictures: bytes.Contains(b.Prompt, []byte(`"multimodal_data"`))}
	r, err := a.New(c.Request().Context(), asked, func(ctx context.Context, r *completion.TextRequest) error {
		if err := b.fill(r); err != nil {
			return err
		}
		return prompts(ctx, r)
	})
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

// fill completes a request, but for its prompts.
func (b *completionBody) fill(r *completion.TextRequest) (err error) {
	if err := r.Plugins.RefuseTemplates(); err != nil {
		return err
	}
	if r.Choices, err = b.choices(r.Model.Slots); err != nil {
		return err
	}
	switch n := b.limit(); {
	case n == 0:
		r.MaxTokens = 1 // as llama-server does
	case n > 0:
		r.MaxTokens = n
	}
	if b.NKeep != nil {
		r.Shift.Keep = *b.NKeep
	}
	r.Shift.Discard = b.NDiscard
	if b.IDSlot != nil && *b.IDSlot != -1 {
		if *b.IDSlot < 0 || *b.IDSlot >= r.Model.Slots {
			return refusal.Invalid("id_slot", "id_slot is %d; it must be from 0 to %d, or -1 for any", *b.IDSlot, r.Model.Slots-1)
		}
		r.Slot = b.IDSlot
	}
	if n := b.probs(); n > 0 {
		r.Logprobs = n
		if b.PostSamplingProbs {
			r.Candidates = n
		}
		if r.Candidates > mostCandidates {
			return refusal.Invalid("n_probs", "n_probs is %d; with post_sampling_probs it must be at most %d", n, mostCandidates)
		}
	}
	r.Progress = b.ReturnProgress && b.Stream
	if most := time.Duration(b.TMaxPredictMS) * time.Millisecond; b.NIndent > 0 || most > 0 {
		r.Rules = func() []answer.StopRule {
			return []answer.StopRule{&lineRule{indent: b.NIndent, most: most, stream: b.Stream}}
		}
	}
	r.Stops, err = completion.ReadStops(b.Stop, "stop")
	return err
}

// limit is how many tokens to generate: -1 for as many as the server allows.
func (b *completionBody) limit() int {
	return first(-1, b.NPredict, b.MaxCompletionTokens, b.MaxTokens)
}

func (b *completionBody) probs() int { return max(0, first(0, b.NProbs, b.Logprobs)) }

// choices is how many answers to each prompt are wanted: at most one for each slot.
func (b *completionBody) choices(slots int) (int, error) {
	name := "n_cmpl"
	if b.NCmpl == nil {
		name = "n"
	}
	n := first(1, b.NCmpl, b.N)
	if n < 1 || n > slots {
		return 0, refusal.Invalid(name, "%s is %d; it must be from 1 to %d, the number of slots", name, n, slots)
	}
	return n, nil
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
