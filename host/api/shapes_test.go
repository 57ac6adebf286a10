// SPDX-License-Identifier: MIT

package api

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/scheduler"
)

// The answers as a client reads them.
type (
	answerHead struct {
		ID, Object, Model string
		Created           int64
	}
	chatAnswer struct {
		answerHead
		Choices []struct {
			Index        int
			Message      struct{ Role, Content string }
			Logprobs     *chatProbs
			FinishReason string `json:"finish_reason"`
		}
		Usage   wire.Usage
		Timings wire.Timings
	}
	chatProbs struct{ Content []wire.TokenProb }
	chatChunk struct {
		answerHead
		Choices []struct {
			Index int
			Delta struct {
				Role    string
				Content *string
			}
			Logprobs     *chatProbs
			FinishReason *string `json:"finish_reason"`
		}
		Usage   *wire.Usage
		Timings *wire.Timings
	}
	textAnswer struct {
		answerHead
		Choices []struct {
			Index    int
			Text     string
			Logprobs *struct {
				Tokens  []string
				Values  []float32            `json:"token_logprobs"`
				Top     []map[string]float32 `json:"top_logprobs"`
				Offsets []int                `json:"text_offset"`
			}
			FinishReason *string `json:"finish_reason"`
		}
		Usage   *wire.Usage
		Timings *wire.Timings
	}
	nativeAnswer struct {
		Content      string
		Tokens       []scheduler.Token
		Stop         bool
		Predicted    int              `json:"tokens_predicted"`
		Evaluated    int              `json:"tokens_evaluated"`
		Probs        []wire.TokenProb `json:"completion_probabilities"`
		Model        string
		StopType     string `json:"stop_type"`
		StoppingWord string `json:"stopping_word"`
		Timings      wire.Timings
	}
)
