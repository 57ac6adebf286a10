// SPDX-License-Identifier: MIT

package bench

import "bytes"

// maxEvent bounds a line of an event stream, in bytes.
const maxEvent = 1 << 20

// events splits a stream of server-sent events, fed as it arrives, into the data of its events.
// Each event of these APIs has one data line; other fields and comments are passed over.
type events struct {
	rest []byte // an unfinished line
}

// feed takes the next bytes and calls each with the data of every event line they complete. It
// reports whether the stream can be gone on with: a line may not be longer than maxEvent.
func (e *events) feed(p []byte, each func(data []byte) error) (bool, error) {
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			e.rest = append(e.rest, p...)
			return len(e.rest) <= maxEvent, nil
		}
		line := p[:end]
		if len(e.rest) > 0 {
			line = append(e.rest, line...)
		}
		p, e.rest = p[end+1:], e.rest[:0]
		data, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte("data:"))
		if !ok {
			continue
		}
		if err := each(bytes.TrimPrefix(data, []byte(" "))); err != nil {
			return true, err
		}
	}
}
