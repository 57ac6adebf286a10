// SPDX-License-Identifier: MIT

package responses

import (
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// response is the answer, whole or as far as it has come.
type response struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	CreatedAt         int64             `json:"created_at"`
	Status            string            `json:"status"`
	Background        bool              `json:"background"`
	Error             any               `json:"error"`
	Incomplete        *incomplete       `json:"incomplete_details"`
	Instructions      *string           `json:"instructions"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Model             string            `json:"model"`
	Output            []output          `json:"output"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	PreviousResponse  *string           `json:"previous_response_id"`
	Reasoning         reasoning         `json:"reasoning"`
	Store             bool              `json:"store"`
	Temperature       float32           `json:"temperature"`
	Text              format            `json:"text"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	Tools             []json.RawMessage `json:"tools"`
	TopP              float32           `json:"top_p"`
	Truncation        string            `json:"truncation"`
	Usage             *usage            `json:"usage"`
	Metadata          any               `json:"metadata"`
	Timings           *wire.Timings     `json:"timings,omitempty"`
	Recording         string            `json:"recording,omitempty"` // an addition of ours
}

type incomplete struct {
	Reason string `json:"reason"`
}

type reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type format struct {
	Format json.RawMessage `json:"format"`
}

type usage struct {
	Input        int           `json:"input_tokens"`
	InputDetails inputDetails  `json:"input_tokens_details"`
	Output       int           `json:"output_tokens"`
	Details      outputDetails `json:"output_tokens_details"`
	Total        int           `json:"total_tokens"`
}

type inputDetails struct {
	Cached int `json:"cached_tokens"`
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
	Branch    int `json:"branch_tokens,omitempty"` // an addition of ours: see wire.Usage
}

// output is one item of a response: what the model thought, said or called. Content is nil in a
// call, and a list otherwise.
type output struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"` // reasoning, message, function_call, custom_tool_call
	Status    string  `json:"status"`
	Role      string  `json:"role,omitempty"`
	Summary   *[]part `json:"summary,omitempty"`
	Content   *[]part `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Input     *string `json:"input,omitempty"` // of a custom tool
}

// part is a part of an item's content. A text has annotations and log-probabilities, which may be
// empty lists.
type part struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Annotations *[]any            `json:"annotations,omitempty"`
	Logprobs    *[]wire.TokenProb `json:"logprobs,omitempty"`
}

// The states of a response and of its items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	cut        = "incomplete"
	failed     = "failed"
)

// failure says why a response failed.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// object is the response with the items that it has so far.
func (s *shape) object(status string) response {
	b := s.body
	r := response{ID: s.id, Object: "response", CreatedAt: s.created, Status: status, Instructions: b.Instructions, MaxOutputTokens: b.MaxOutputTokens,
		Model: s.request.Model.Name, Output: []output{}, ParallelToolCalls: b.ParallelToolCalls == nil || *b.ParallelToolCalls,
		Reasoning: reasoning{Effort: b.Reasoning.Effort}, Temperature: s.request.Params.Temperature, TopP: s.request.Params.TopP,
		Text: format{json.RawMessage(`{"type":"text"}`)}, ToolChoice: json.RawMessage(`"auto"`), Tools: []json.RawMessage{}, Truncation: "disabled",
		Metadata: map[string]json.RawMessage{}}
	if completion.IsSet(b.Text.Format) {
		r.Text.Format = b.Text.Format
	}
	if completion.IsSet(b.ToolChoice) {
		r.ToolChoice = b.ToolChoice
	}
	if b.Tools != nil {
		r.Tools = b.Tools
	}
	if b.Metadata != nil {
		r.Metadata = b.Metadata
	}
	return r
}

// finish says how the response ended.
func (r *response) finish(c *completion.Choice, items []output) {
	timings := wire.TimingsOf(c.End)
	r.Status, r.Output, r.Timings, r.Recording = completed, items, &timings, c.Request.RecordingID()
	if items == nil {
		r.Output = []output{}
	}
	if c.FinishReason() == "length" {
		r.Status, r.Incomplete = cut, &incomplete{"max_output_tokens"}
	}
	u := c.End.Usage
	r.Usage = &usage{Input: u.Prompt, InputDetails: inputDetails{u.Cached}, Output: u.Generated, Details: outputDetails{Reasoning: c.ReasoningTokens(), Branch: u.Beside()}, Total: u.Prompt + u.Generated}
}
