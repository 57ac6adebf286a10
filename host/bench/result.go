// SPDX-License-Identifier: MIT

package bench

import "time"

// Result is what one run measured.
type Result struct {
	Seconds float64   `json:"seconds"` // length of the window
	Classes []Summary `json:"classes"` // in the load's order
	Total   Summary   `json:"total"`   // of all classes; Class is empty

	Ticks *Ticks `json:"ticks,omitempty"` // of the whole run, warm-up included; nil if the server does not tell
}

// Summary is what one class of clients saw within the window.
type Summary struct {
	Class    string `json:"class"`
	Requests int    `json:"requests"` // sent in the window
	Failed   int    `json:"failed"`   // of these
	Error    string `json:"error,omitempty"`

	Tokens          float64 `json:"tokens"` // generated in the window
	TokensPerSecond float64 `json:"tokens_per_second"`
	// Prompt tokens computed in the window, cached ones not counted. A prompt counts from its
	// request's sending to the first text, spread evenly, so that those which begin or end outside
	// the window count in part.
	PromptTokens          float64 `json:"prompt_tokens"`
	PromptTokensPerSecond float64 `json:"prompt_tokens_per_second"`
	CachedTokens          int     `json:"cached_tokens"` // of the prompts of requests sent in the window

	TTFT Latency `json:"ttft"` // of requests sent in the window
	ITL  Latency `json:"itl"`  // gaps that begin in the window; at the end of the run, as long as they were by then
}

// Class finds the summary of a class; one without any request if there is none of that name.
func (r Result) Class(name string) Summary {
	for _, s := range r.Classes {
		if s.Class == name {
			return s
		}
	}
	return Summary{Class: name}
}

// result sums up the run. All clients must have returned.
func (r *run) result() Result {
	w := r.window
	if w.to.IsZero() {
		w.from, w.to = span(r.records)
	}
	result := Result{Seconds: w.length().Seconds()}
	all := newTally(w)
	for i, c := range r.load.Classes {
		var records []*record
		for _, rec := range r.records {
			if rec.class == i {
				records = append(records, rec)
			}
		}
		t := newTally(w)
		typical := typicalUsage(records, c.PromptWords)
		for _, rec := range records {
			t.add(rec, typical)
			all.add(rec, typical)
		}
		result.Classes = append(result.Classes, t.summary(c.Name))
	}
	result.Total = all.summary("")
	return result
}

// span is the time from the first request to just past the last end.
func span(records []*record) (from, to time.Time) {
	for _, rec := range records {
		if from.IsZero() || rec.sent.Before(from) {
			from = rec.sent
		}
		if rec.ended.After(to) {
			to = rec.ended
		}
	}
	return from, to.Add(1) // a window's end is not part of it
}
