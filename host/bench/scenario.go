// SPDX-License-Identifier: MIT

package bench

import "time"

// Scenario is a load with a name.
type Scenario struct {
	Name string
	Load Load
	Same bool // each round has the prompts of the first, so that a server may have them in its cache
}

// How many words the prompts of the scenarios have.
const (
	ShortWords = 40
	LongWords  = 1500
)

// PictureSide is how many pixels a side the pictures of a scenario have: those of a phone's photo.
const PictureSide = 3500

// Temperature is llama-server's default and Penstock's: what most requests are sampled with.
const Temperature = 0.8

// Single is one stream alone, n times.
func Single(seed uint64, n int) Scenario {
	return Scenario{Name: "single", Load: Load{Seed: seed, Temperature: Temperature, Classes: []Class{
		{Name: "stream", Clients: 1, Requests: n, PromptWords: 8, MaxTokens: 128}}}}
}

// Batch is a burst of requests, all at once.
func Batch(seed uint64, name string, streams int) Scenario {
	return Scenario{Name: name, Load: Load{Seed: seed, Temperature: Temperature, Classes: []Class{
		{Name: "stream", Clients: streams, Requests: streams, PromptWords: ShortWords, MaxTokens: 64}}}}
}

// Mixed is streams while other clients send prompts of so many words, which stalls a server that
// does not plan for it. Either number may be 0.
func Mixed(seed uint64, name string, streams, long, longWords int, duration time.Duration) Scenario {
	s := Scenario{Name: name, Load: Load{Seed: seed, Temperature: Temperature, Warmup: 3 * time.Second, Duration: duration}}
	if streams > 0 {
		s.Load.Classes = append(s.Load.Classes, Class{Name: "stream", Clients: streams, PromptWords: ShortWords, MaxTokens: 256})
	}
	if long > 0 {
		s.Load.Classes = append(s.Load.Classes, Class{Name: "long", Clients: long, PromptWords: longWords, MaxTokens: 16})
	}
	return s
}

// Pictures is streams while other clients send pictures of so many pixels a side, each a new one.
// Either number may be 0.
func Pictures(seed uint64, name string, streams, seeing, side int, duration time.Duration) Scenario {
	s := Mixed(seed, name, streams, 0, 0, duration)
	if seeing > 0 {
		s.Load.Classes = append(s.Load.Classes, Class{Name: "picture", Clients: seeing, PromptWords: 8, MaxTokens: 16, PictureSide: side})
	}
	return s
}
