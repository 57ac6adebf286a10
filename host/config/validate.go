// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"slices"
)

// Validate checks every value against its allowed range, and values against each other. It returns all that is wrong,
// joined.
func (c Config) Validate() error {
	var problems []error
	for _, s := range c.settings {
		outOfRange := s.Key.check != nil && !s.Key.check(s.Value)
		tooWide := s.Key.Name == "scheduler.ubatch_size" && c.Scheduler.UBatchSize > c.Scheduler.BatchSize
		if outOfRange || tooWide || s.Key.Name == "server.priority_keys" && !c.Server.knowsPriorityKeys() {
			problems = append(problems, wrong(s))
		}
	}
	return errors.Join(problems...)
}

// knowsPriorityKeys is false where a key may raise priorities that would not be let in.
func (s Server) knowsPriorityKeys() bool {
	return len(s.APIKeys) == 0 || !slices.ContainsFunc(s.PriorityKeys, func(key string) bool { return !slices.Contains(s.APIKeys, key) })
}
