// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/plugins/abi"
)

// promptText is what the model's template made of messages last.
type promptText struct {
	of   []byte
	text string
	err  error
}

var errNoPrompt = errors.New("there is no conversation here, or no template")

// hostPrompt gives the text that the model's own template makes of messages.
func hostPrompt(i *Instance, c *call) uint64 {
	messages := c.in[0]
	if len(messages) == 0 {
		messages = i.session.Messages
		i.charge(textFuel * uint64(len(messages)))
	}
	text, err := i.promptText(messages)
	if c.err = err; err != nil {
		i.session.log.add(abi.LogWarn, []byte("no prompt: "+err.Error()))
		return i32(-1)
	}
	return c.text(i, text)
}

func (i *Instance) promptText(messages []byte) (string, error) {
	last := &i.session.promptText
	i.call.unseen = true // the model's template is not asked
	switch {
	case i.running != Messages && i.running != Template || i.session.request == nil || i.session.request.PromptText == nil:
		return "", errNoPrompt
	case len(messages) > abi.LimitBranchMessagesBytes:
		return "", fmt.Errorf("the messages have %d bytes, at most %d are taken", len(messages), abi.LimitBranchMessagesBytes)
	case last.of != nil && bytes.Equal(last.of, messages):
		return last.text, last.err
	}
	i.call.unseen = false
	last.of = bytes.Clone(messages)
	i.aside(func(ctx context.Context) { last.text, last.err = i.session.request.PromptText(ctx, last.of) })
	return last.text, last.err
}
