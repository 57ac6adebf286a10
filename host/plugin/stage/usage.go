// SPDX-License-Identifier: MIT

package stage

// Usage is what a stage's guest uses.
type Usage struct {
	Fuel   int64 // units, of the last call
	Limit  int64 // units that it might have used
	Memory int   // bytes of guest memory
}

// Usage tells what the last call has used; zero if there is no instance, before the first Reset
// and after a fault.
func (s *Stage) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil {
		return Usage{}
	}
	used, limit := s.instance.Fuel()
	return Usage{Fuel: used, Limit: limit, Memory: len(s.instance.Memory())}
}
