// SPDX-License-Identifier: MIT

package plugin

// Usage is what a stage's guest uses.
type Usage struct {
	Fuel   int64 // units, of the last call
	Limit  int64 // units that it might have used
	Memory int   // bytes of guest memory
}

// Usage tells what the last call has used; zero where there is no instance, before the first Rewind and after a fault.
func (s *Stage) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil {
		return Usage{}
	}
	i := s.instance
	return Usage{Fuel: i.given - i.meter.Left(), Limit: i.given, Memory: len(i.region.Bytes())}
}
