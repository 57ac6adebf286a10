// SPDX-License-Identifier: MIT

package remote

import (
	"encoding/json"
	"fmt"
	"time"
)

// protocol counts the changes of what stands in frames.
const protocol = 1

// hostHello is a host's first frame.
type hostHello struct {
	Protocol int    `json:"protocol"`
	Llama    string `json:"llama.cpp"` // version
	Host     string `json:"host"`      // one process: a worker serves the models of one
	Name     string `json:"name"`      // of its machine, for people
}

// workerHello is the worker's answer.
type workerHello struct {
	Llama   string   `json:"llama.cpp"`
	Devices []Device `json:"devices"`
}

// refusal is why a worker does not serve a host; empty: it does. Both sides must have the same
// llama.cpp, because graphs are sent as its structures lie in memory, with the numbers of its
// operations.
func (h hostHello) refusal(llama string) string {
	switch {
	case h.Protocol != protocol:
		return fmt.Sprintf("the host speaks version %d of the worker protocol and this worker version %d; run the same release of Penstock on both", h.Protocol, protocol)
	case h.Llama != llama:
		return fmt.Sprintf("the host has llama.cpp %s and this worker %s; run the same release of Penstock on both", h.Llama, llama)
	}
	return ""
}

func (l *link) sendHello(hello any) error {
	text, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	if len(text) > maxFrame {
		return fmt.Errorf("a greeting of %d bytes; there may be %d", len(text), maxFrame)
	}
	return l.send(helloFrame, text)
}

// receiveHello reads the peer's first frame but for signs of life.
func (l *link) receiveHello(hello any, limit time.Duration) error {
	begin, buffer := time.Now(), make([]byte, maxFrame)
	kind, payload, err := l.receive(buffer, min(limit, silence))
	for err == nil && kind == pingFrame {
		kind, payload, err = l.receive(buffer, min(limit-time.Since(begin), silence))
	}
	switch {
	case err != nil:
		return err
	case kind == endFrame:
		return &refused{string(payload)}
	case kind != helloFrame:
		return errNoFrame
	}
	if err := json.Unmarshal(payload, hello); err != nil {
		return fmt.Errorf("%w: %w", errNoFrame, err)
	}
	return nil
}

// refused is what a peer said when it ended the connection at its beginning.
type refused struct{ reason string }

func (r *refused) Error() string        { return r.reason }
func (r *refused) Is(target error) bool { return target == ErrRefused }
