// SPDX-License-Identifier: MIT

package session

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/plugins/abi"
)

// check looks for what no session can have, and names the field.
func (f *File) check() error {
	if err := f.Vocabulary.check(); err != nil {
		return err
	}
	n := len(f.Vocabulary.Pieces)
	if err := f.Table.Check("table", n); err != nil {
		return err
	}
	for i := range f.Sessions {
		s := &f.Sessions[i]
		err := s.check(n)
		if err == nil {
			err = s.checkModel(n, f.modelOf(s) != nil)
		}
		if err != nil {
			return fmt.Errorf("sessions[%d].%w", i, err)
		}
	}
	return nil
}

func (s *Session) check(n int) error {
	if s.Plugin.Name == "" {
		return errors.New("plugin.name: it is missing")
	}
	for i, t := range s.Request.Prompt {
		if t == abi.TokenMedia {
			continue
		}
		if err := checkToken(fmt.Sprintf("request.prompt[%d]", i), t, n); err != nil {
			return err
		}
	}
	for i := range s.Warm {
		if err := s.Warm[i].check(n); err != nil {
			return fmt.Errorf("warm[%d].%w", i, err)
		}
	}
	length := len(s.Request.Prompt)
	for i := range s.Calls {
		c := &s.Calls[i]
		err := c.check(n)
		if i > 0 && s.Calls[i-1].over() {
			err = fmt.Errorf("call: %q; nothing follows a fault or a refusal", c.Call)
		}
		if i > 1 && err == nil {
			err = c.checkStep(&s.Calls[i-1])
		}
		if err == nil {
			err = c.checkOrder(i, i > 0 && s.Calls[0].renders(), &length, len(s.Request.Prompt))
		}
		if err != nil {
			return fmt.Errorf("calls[%d].%w", i, err)
		}
	}
	return nil
}

// checkOrder checks that a call may stand where it stands. length is that of the conversation, and
// follows it.
func (c *Call) checkOrder(at int, afterRender bool, length *int, prompt int) error {
	first := at == 0
	switch {
	case (c.Call == CallOpen || c.renders()) != first:
		return fmt.Errorf("call: %q; open, render or messages is the first call of a session, and no other", c.Call)
	case afterRender:
		return fmt.Errorf("call: %q; a session of a template has one call, render or messages", c.Call)
	case c.Call == CallRewind && (*c.Keep < prompt || *c.Keep > *length):
		return fmt.Errorf("keep: %d; the prompt has %d tokens, the conversation %d", *c.Keep, prompt, *length)
	case c.Splice != nil && c.Fault == nil && (c.Splice.Backtrack < 0 || c.Splice.Backtrack > *length+1-prompt):
		return fmt.Errorf("splice.backtrack: %d; the answer has %d tokens", c.Splice.Backtrack, *length+1-prompt)
	}
	switch c.Call {
	case CallAccept:
		*length++
		if c.Splice != nil {
			*length -= c.Splice.Backtrack
		}
	case CallRewind:
		*length = *c.Keep + len(c.Tokens)
	case CallOpen:
		*length += len(c.Tokens)
	}
	return nil
}

// runs reports whether the call is of a program at work.
func (c *Call) runs() bool { return c.Call == CallStep || c.Call == CallRun }

// checkStep checks that steps of a program stand beside no other calls, and that a run is the last.
func (c *Call) checkStep(before *Call) error {
	if c.runs() != before.runs() || before.Call == CallRun {
		return fmt.Errorf("call: %q after %q; steps of a program follow open, and a run is the last call", c.Call, before.Call)
	}
	return nil
}

// renders reports whether the call has to do with a conversation, in an instance of its own.
func (c *Call) renders() bool { return c.Call == CallRender || c.Call == CallMessages }

// check checks a call by itself.
func (c *Call) check(n int) error {
	if err := c.checkInput(n); err != nil {
		return err
	}
	if err := c.checkOutcome(); err != nil {
		return err
	}
	for i := range c.Deeds {
		if err := c.Deeds[i].check(n); err != nil {
			return fmt.Errorf("deeds[%d].%w", i, err)
		}
	}
	return c.Mask.check(n)
}

// checkInput checks that what a call needs is there.
func (c *Call) checkInput(n int) error {
	switch c.Call {
	case CallOpen, CallPrepare, CallRender, CallMessages, CallRefuse, CallStep, CallRun:
	case CallStopRewind:
		if c.Bytes < 0 || c.Count < 0 {
			return fmt.Errorf("count: %d, bytes: %d; they are how many tokens and how many bytes of their text are taken back", c.Count, c.Bytes)
		}
	case CallAccept, CallStop:
		if c.Token == nil {
			return errors.New("token: it is missing")
		}
		if err := checkToken("token", *c.Token, n); err != nil {
			return err
		}
		if c.Call == CallStop && c.Text == nil {
			return errors.New("text: it is missing")
		}
	case CallRewind:
		if c.Keep == nil {
			return errors.New("keep: it is missing; it is how many tokens stay, prompt included")
		}
	case CallSample:
		return c.checkView(n)
	default:
		return fmt.Errorf("call: there is no %q; the calls are open, prepare, sample, accept, stop, rewind, stop_rewind, render, messages (of a plugin that rewrites them), refuse, step and run", c.Call)
	}
	return checkTokens("tokens", c.Tokens, n)
}

func (c *Call) checkView(n int) error {
	switch {
	case c.IDs != nil && len(c.IDs) != len(c.Logits):
		return fmt.Errorf("logits: %d for %d ids", len(c.Logits), len(c.IDs))
	case c.IDs == nil && c.Logits != nil && len(c.Logits) != n:
		return fmt.Errorf("logits: %d without ids; a row has one for each of the %d tokens", len(c.Logits), n)
	case c.Left != nil && c.Answer != nil && (*c.Answer >= 0 || *c.Answer == abi.SampleBiased):
		return fmt.Errorf("left: nothing is told of what is left with the answer %d; with %d give bias, and with a token neither", *c.Answer, abi.SampleBiased)
	case c.Left != nil && (c.Left.SHA256 != "" || c.Left.IDs != nil) && len(c.Left.IDs) != len(c.Left.Logits):
		return fmt.Errorf("left.logits: %d for %d ids", len(c.Left.Logits), len(c.Left.IDs))
	}
	seen := map[Token]bool{}
	for i, t := range c.IDs {
		if err := checkToken(fmt.Sprintf("ids[%d]", i), t, n); err != nil {
			return err
		}
		if seen[t] {
			return fmt.Errorf("ids[%d]: token %d is there twice", i, t)
		}
		seen[t] = true
	}
	return nil
}
