// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"math"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
)

// open makes an instance, and tells it the tokens of the answer so far and what of their text the
// rule was shown. All of it must be over by until.
func (s *Stage) open(history []scheduler.Token, until time.Time) error {
	s.session.SetupDeadline = until
	defer func() { s.session.SetupDeadline = time.Time{} }()
	s.session.History = append(s.session.History[:0], history[:s.prompt]...)
	s.session.Params[abi.ParamPromptTokens] = int64(s.prompt)
	var err error
	if s.instance, err = s.module.NewInstance(context.Background(), s.session); err != nil {
		return err
	}
	s.rule.begin()
	s.filter.cut = false
	if s.module.Has(guest.Open) {
		if returned, err := s.instance.Call(guest.Open, 0, 0); err != nil {
			return err
		} else if returned != 0 {
			return s.instance.Refusal(guest.Open)
		}
	}
	if err := s.checkBound(); err != nil {
		return err
	}
	told, given := 0, 0
	for n, t := range history[s.prompt:] {
		s.session.History = append(s.session.History, t)
		if s.has(guest.Accept) {
			if _, err := s.instance.Call(guest.Accept, t, 0); err != nil {
				return err
			}
		}
		var err error
		if told, err = s.rule.retell(told, n+1); err != nil {
			return err
		}
		if given, err = s.filter.retell(given, n+1); err != nil {
			return err
		}
	}
	if err := s.rule.retellRest(told); err != nil {
		return err
	}
	_, err = s.filter.retell(given, math.MaxInt)
	return err
}

// checkBound checks that the buffers are bound which the plugin's exports need.
func (s *Stage) checkBound() error {
	var kind int
	var what string
	switch b := &s.instance.Buffers; {
	case s.has(guest.Sample) && s.plugin.Manifest.View == load.ViewCandidates && !b.Bound(abi.BufferCandidates):
		kind, what = abi.BufferCandidates, "candidates"
	case s.has(guest.Sample) && s.plugin.Manifest.View == load.ViewLogits && !b.Bound(abi.BufferLogits):
		kind, what = abi.BufferLogits, "logits"
	case (s.has(guest.Stop) || s.has(guest.Filter)) && !b.Bound(abi.BufferText):
		kind, what = abi.BufferText, "text"
	default:
		return nil
	}
	return s.instance.Fail(guest.Open, guest.Violationf(plugin.CauseBuffer, "no %s buffer (kind %d) is bound", what, kind))
}
