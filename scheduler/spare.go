// SPDX-License-Identifier: MIT

package scheduler

import "os"

// spare is memory for the next state of the archive, made ready by another goroutine. The first touch of fresh pages takes
// several times as long as copying a state into them, and every stream would wait for it.
type spare struct {
	ready   chan []byte // holds one
	largest int         // that was asked for
}

func newSpare() spare { return spare{ready: make(chan []byte, 1)} }

// take gives size bytes, and the next buffer is made ready. A state that would leave half of it unused gets fresh memory.
func (s *spare) take(size int) []byte {
	s.largest = max(s.largest, size)
	if size < s.largest/2 {
		return make([]byte, size)
	}
	var buffer []byte
	select {
	case buffer = <-s.ready:
	default:
	}
	go s.prepare(s.largest)
	if len(buffer) < size {
		return make([]byte, size)
	}
	return buffer[:size]
}

func (s *spare) prepare(size int) {
	buffer := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		buffer[i] = 0
	}
	select {
	case s.ready <- buffer:
	default: // there is one already
	}
}
