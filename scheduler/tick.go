// SPDX-License-Identifier: MIT

package scheduler

// Tick does one round: take commands, fill free slots, plan, run one forward pass, sample, emit. It reports false when
// there was nothing to compute. Run calls it in a loop; tests call it themselves, from one goroutine.
func (s *Scheduler) Tick() (busy bool) {
	s.planned, s.prefilling = s.planned[:0], s.prefilling[:0]
	defer s.survive(&busy)
	now := s.config.Clock()
	computed := s.record.Forward
	s.record = TickRecord{Start: now}
	s.collectLate()
	s.takeCommands()
	s.expire(now)
	s.cache.BeginTick(s.copyTime(computed))
	awaitedCopy := s.awaitsCopy
	s.admit(now)
	if !s.awaitsCopy {
		s.cache.SaveAhead()
	}
	s.plan()
	if len(s.planned) == 0 {
		s.publish()
		return awaitedCopy || !s.cache.Settled()
	}
	s.compute()
	s.observe()
	s.publish()
	return true
}

// takeCommands runs what other goroutines posted: submissions, cancellations, control calls.
func (s *Scheduler) takeCommands() {
	commands := s.inbox.swap(s.commands)
	for i, command := range commands {
		s.attempt(func() { command(s) })
		commands[i] = nil
	}
	s.commands = commands
	retries := s.retries
	s.retries = nil
	for _, retry := range retries {
		s.attempt(func() { retry(s) })
	}
}
