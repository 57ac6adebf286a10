// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"time"
)

// Class is a group of clients that send the same kind of request.
type Class struct {
	Name string `json:"name"`

	// Clients of a closed loop: each sends its next request when its last has ended and Think has
	// passed.
	Clients int           `json:"clients,omitempty"`
	Think   time.Duration `json:"think_ns,omitempty"`
	// Rate of an open loop, in requests a second: they arrive at random (Poisson), whether or not
	// others have ended. Exactly one of Clients and Rate is set.
	Rate float64 `json:"rate,omitempty"`

	Requests int           `json:"requests,omitempty"` // of all its clients together; 0: no bound
	Delay    time.Duration `json:"delay_ns,omitempty"` // before the class begins
	After    string        `json:"after,omitempty"`    // the class begins when one of that name has got its first text

	PromptWords int `json:"prompt_words"`
	// SharedWords of PromptWords, at the beginning of the prompt, are the same in all requests of
	// all classes of the load.
	SharedWords int `json:"shared_words,omitempty"`
	MaxTokens   int `json:"max_tokens"`
	// PictureSide, if it is not 0, has each request begin with a new picture of so many pixels a
	// side. It is a chat completion then.
	PictureSide int `json:"picture_side,omitempty"`
}

// Load is what one run puts on a server.
type Load struct {
	Classes []Class

	// Requests are measured that are sent within Duration after Warmup. The load goes on until all
	// of them have got their first token and ends then. A Duration of 0: all requests are
	// measured, until each class's bound is reached.
	Warmup, Duration time.Duration
	Limit            time.Duration // the run is broken off after that; 0: DefaultLimit

	Seed        uint64 // the same seed gives the same prompts and arrivals
	Temperature float64
}

// DefaultLimit is how long a run may take where its Load does not say.
const DefaultLimit = 10 * time.Minute

const (
	maxClients = 4096
	maxRate    = 10_000 // requests a second
	maxWords   = 1 << 20
	maxSide    = 16384 // pixels
)

// Validate tells what is wrong with the load.
func (l Load) Validate() error {
	if len(l.Classes) == 0 {
		return fmt.Errorf("%w: it has no class of clients", ErrLoad)
	}
	if l.Warmup < 0 || l.Duration < 0 || l.Limit < 0 {
		return fmt.Errorf("%w: warm-up (%v), duration (%v) and limit (%v) must not be negative", ErrLoad, l.Warmup, l.Duration, l.Limit)
	}
	names := map[string]bool{}
	for _, c := range l.Classes {
		if names[c.Name] {
			return fmt.Errorf("%w: two classes are named %q", ErrLoad, c.Name)
		}
		if c.After != "" && !names[c.After] {
			return fmt.Errorf("%w: class %q begins after %q, which is none of the classes before it", ErrLoad, c.Name, c.After)
		}
		names[c.Name] = true
		if err := c.validate(); err != nil {
			return err
		}
		if l.Duration == 0 && c.Requests == 0 {
			return fmt.Errorf("%w: class %q would never end; give a duration, or a number of requests", ErrLoad, c.Name)
		}
	}
	return nil
}

func (c Class) validate() error {
	wrong := func(what string, args ...any) error {
		return fmt.Errorf("%w: class %q: %s", ErrLoad, c.Name, fmt.Sprintf(what, args...))
	}
	switch {
	case c.Clients != 0 && c.Rate != 0:
		return wrong("clients (%d) and rate (%g) exclude each other; a rate is sent by as many as it takes", c.Clients, c.Rate)
	case c.Rate == 0 && (c.Clients < 1 || c.Clients > maxClients):
		return wrong("%d clients; 1 to %d are possible", c.Clients, maxClients)
	case c.Rate != 0 && !(c.Rate > 0 && c.Rate <= maxRate):
		return wrong("a rate of %g requests a second; more than 0 and at most %d are possible", c.Rate, maxRate)
	case c.PromptWords < 1 || c.PromptWords > maxWords:
		return wrong("prompts of %d words; 1 to %d are possible", c.PromptWords, maxWords)
	case c.SharedWords < 0 || c.SharedWords > c.PromptWords:
		return wrong("%d shared words of %d", c.SharedWords, c.PromptWords)
	case c.PictureSide < 0 || c.PictureSide > maxSide:
		return wrong("pictures of %d pixels a side; 0 to %d are possible", c.PictureSide, maxSide)
	case c.MaxTokens < 1:
		return wrong("%d tokens to generate; at least 1 is needed", c.MaxTokens)
	case c.Requests < 0 || c.Think < 0 || c.Delay < 0:
		return wrong("requests (%d), think time (%v) and delay (%v) must not be negative", c.Requests, c.Think, c.Delay)
	}
	return nil
}

func (l Load) limit() time.Duration {
	if l.Limit == 0 {
		return DefaultLimit
	}
	return l.Limit
}
