// SPDX-License-Identifier: MIT

package wire

import (
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/scheduler"
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
