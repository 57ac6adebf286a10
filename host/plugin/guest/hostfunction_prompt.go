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
func hostPrompt(i *Instance, s []uint64) {
	messages := i.bytesAt(uint64(uint32(s[0])), uint64(uint32(s[1])))
	if len(messages) == 0 {
		messages = i.session.Messages
	}
	i.bytesAt(uint64(uint32(s[2])), uint64(uint32(s[3]))) // also where there is nothing to write
	i.charge(messagesFuel + textFuel*uint64(len(messages)))
	text, err := i.promptText(messages)
	if err != nil {
		i.session.log.add(abi.LogWarn, []byte("no prompt: "+err.Error()))
		s[0] = i32(-1)
		return
	}
	i.write(s, s[2], s[3], 1, []byte(text))
}

func (i *Instance) promptText(messages []byte) (string, error) {
	last := &i.session.promptText
	switch {
	case i.running != Messages && i.running != Template || i.session.request == nil || i.session.request.PromptText == nil:
		return "", errNoPrompt
	case len(messages) > abi.LimitBranchMessagesBytes:
		return "", fmt.Errorf("the messages have %d bytes, at most %d are taken", len(messages), abi.LimitBranchMessagesBytes)
	case last.of != nil && bytes.Equal(last.of, messages):
		return last.text, last.err
	}
	last.of = bytes.Clone(messages)
	i.aside(func(ctx context.Context) { last.text, last.err = i.session.request.PromptText(ctx, last.of) })
	i.asked(Question{Import: abi.ImportPrompt, Text: last.text, Err: last.err})
	return last.text, last.err
}
