// SPDX-License-Identifier: MIT

package config

import "errors"

// Validate checks every value against its allowed range, and values against each other. It returns all that is wrong,
// joined.
func (c Config) Validate() error {
	var problems []error
	for _, s := range c.settings {
		outOfRange := s.Key.check != nil && !s.Key.check(s.Value)
		tooWide := s.Key.Name == "scheduler.ubatch_size" && c.Scheduler.UBatchSize > c.Scheduler.BatchSize
		if outOfRange || tooWide {
			problems = append(problems, wrong(s))
		}
	}
	return errors.Join(problems...)
}
