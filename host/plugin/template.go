// SPDX-License-Identifier: MIT

package plugin

import (
	"context"

	"github.com/penstock/penstock/plugins/abi"
)

// Render lets a template plugin turn a conversation, a JSON list of messages, into the text of a prompt, in an instance of
// its own, unless the context ends first. The error is a *Refusal, a *Fault, or wraps ErrUnknown or ErrQuarantined.
func (m *Module) Render(ctx context.Context, messages []byte, r Request) (string, error) {
	if err := m.enter(&r); err != nil {
		return "", err
	}
	defer m.leave()
	s := newSession(&m.runtime.limits, m.runtime.log.With("plugin", m.Name))
	s.serve(&r)
	s.messages, s.done = messages, ctx.Done()
	s.setUntil = r.Setup.until(m.runtime.limits.SetupTime)
	i, err := m.begin(ctx, s)
	if err != nil {
		return "", err
	}
	defer func() { _ = i.close(true) }() // the prompt is there
	for _, h := range []hook{hookOpen, hookTemplate} {
		if !m.exports(h) {
			continue
		}
		if answer, err := i.call(h, 0, 0); ctx.Err() != nil {
			return "", ctx.Err()
		} else if err != nil {
			return "", err
		} else if answer != 0 {
			return "", i.refuse(h)
		}
	}
	if len(i.emitted) == 0 {
		return "", i.fault(hookTemplate, wrong(CauseAnswer, "no prompt was handed to %s", abi.ImportEmit))
	}
	return cleanText(i.emitted), nil
}
