// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/sampling"
)

// modelFinding loads the configured model and has it answer one token.
func modelFinding(ctx context.Context, cfg config.Config) finding {
	begin := time.Now()
	s, err := openSession(ctx, cfg, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return finding{stateFail, "model", err.Error(), "name another file with --model, or none to use the built-in model"}
	}
	loaded := time.Since(begin)
	greedy := sampling.Default()
	greedy.Temperature = 0
	_, err = s.answer(limits{params: greedy, maxTokens: 1})(ctx, []chat.Message{{Role: "user", Content: "Hello"}},
		func(string) error { return nil })
	info := s.Engine.Info()
	if err = errors.Join(err, s.Close()); err != nil {
		return finding{stateFail, "model", fmt.Sprintf("%s loads, but does not answer: %v", info.Name, err), "try another file with --model"}
	}
	detail := fmt.Sprintf("%s answers; loaded in %v, %.1fM parameters, %d tokens a conversation",
		info.Name, loaded.Round(time.Millisecond), float64(info.Parameters)/1e6, info.Limits.Positions)
	if !info.HasTemplate {
		return finding{stateWarn, "model", detail + ", no chat template", "chat may not work; use completions, or penstock run --raw"}
	}
	return finding{stateOK, "model", detail, ""}
}
