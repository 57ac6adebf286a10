// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/serving"
)

// modelFindings loads the configured model, has it answer one token and says which kernels
// computed it.
func modelFindings(ctx context.Context, cfg config.Config) []finding {
	begin := time.Now()
	m, err := openAlone(ctx, cfg)
	if err != nil {
		remedy := "name another file with --model, or none to use the built-in model"
		if cfg.Model.MMProj != "" && strings.Contains(err.Error(), "model.mmproj") {
			remedy = "leave out --mmproj, or name the projector that was made for this model"
		}
		return []finding{{stateFail, "model", err.Error(), remedy}}
	}
	kernels := kernelFindings(m.Info().Compute.Kernels)
	return append(kernels, projectorFinding(m.Info()), answerFinding(ctx, m, begin))
}

// projectorFinding says what the model takes besides text.
func projectorFinding(m serving.Info) finding {
	reads := "pictures and sounds"
	switch {
	case m.Projector.Unused != "":
		return finding{stateWarn, "media", fmt.Sprintf("the projector %s is not used, so the model takes text only: %s", m.Projector.Path, m.Projector.Unused),
			"remove it, get the one that was made for this model, or start with --no-mmproj"}
	case m.Projector.Path == "":
		return finding{stateOK, "media", "the model takes text only; for pictures and sounds name its projector with --mmproj", ""}
	case m.Media.AudioRate == 0:
		reads = "pictures"
	case !m.Media.Images:
		reads = "sounds"
	}
	return finding{stateOK, "media", fmt.Sprintf("the model takes %s with %s (%s)", reads, m.Projector.Path, m.Projector.Kinds), ""}
}

// kernelFindings says which kernels compute and which are broken.
func kernelFindings(k serving.Kernels) []finding {
	findings := []finding{{stateOK, "kernels", k.String(), ""}}
	if k.NoGPU != "" {
		findings = append(findings, finding{stateWarn, "gpu", "it is not used: " + k.NoGPU,
			"fix its driver, or try fewer --gpu-layers; with 0 the CPU computes all, as now"})
	}
	for _, off := range k.Off {
		findings = append(findings, finding{stateWarn, "kernels", fmt.Sprintf("%s is broken: %s", off.Kernel, off.Reason),
			"another computes instead; build anew on this machine with make llama build, and report it if that does not help"})
	}
	return findings
}

// answerFinding has a model, which was opened at begin, answer one token, and closes it.
func answerFinding(ctx context.Context, m *local.Model, begin time.Time) finding {
	loaded := time.Since(begin)
	_, err := m.Chat(ctx, []local.Message{local.User("Hello")}, local.Temperature(0), local.MaxTokens(1))
	info := m.Info()
	if err = errors.Join(err, m.Close()); err != nil {
		return finding{stateFail, "model", fmt.Sprintf("%s loads, but does not answer: %v", info.Name, err), "try another file with --model"}
	}
	detail := fmt.Sprintf("%s answers; loaded in %v, %.1fM parameters, %d tokens a conversation",
		info.Name, loaded.Round(time.Millisecond), float64(info.Weights.Parameters)/1e6, info.Context)
	if info.Template.Assumed {
		return finding{stateWarn, "model", detail + ", no chat template", "chat may not work; use completions, or penstock run --raw"}
	}
	return finding{stateOK, "model", detail, ""}
}
