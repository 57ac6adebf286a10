// SPDX-License-Identifier: MIT

package plugin

import (
	"sync"
	"time"
)

// Setup is what the guests of one choice share while they are set up: one time for all of them, which begins with the
// first. The zero value is ready; nil gives each guest a time of its own.
type Setup struct {
	once sync.Once
	over time.Time
}

func (s *Setup) until(limit time.Duration) time.Time {
	if s == nil {
		return time.Now().Add(limit)
	}
	s.once.Do(func() { s.over = time.Now().Add(limit) })
	return s.over
}
