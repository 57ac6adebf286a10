// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"log/slog"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// kernelsOf tells which kernels are in use. The layout of the weights shows whose matrix products, and the first pass shows whose
// attention kernel. If no attention kernel of the CPU was called, attention consists of products, or the CPU does not compute it.
func kernelsOf(e *engine.Engine, f *model.File) completion.Kernels {
	out := completion.Kernels{Attention: cmp.Or(native.AttentionKernels(), native.PlainKernels.String()), Weights: []completion.WeightKernels{}, Off: []completion.KernelOff{}}
	for _, w := range e.Info().Weights {
		out.Weights = append(out.Weights, completion.WeightKernels{Type: w.Type.String(), Kernels: w.Kernels, Bytes: w.Bytes})
	}
	if f.NoGPU != nil {
		out.NoGPU = f.NoGPU.Error()
	}
	for _, b := range f.Broken {
		out.Off = append(out.Off, completion.KernelOff{Kernel: b.String(), Reason: b.Reason})
	}
	return out
}

// logKernels logs which kernels are in use, and warns of those that are broken.
func logKernels(log *slog.Logger, k completion.Kernels) {
	for _, off := range k.Off {
		log.Warn("a kernel of this CPU is broken and is not used; another computes instead, perhaps more slowly",
			slog.String("kernel", off.Kernel), slog.String("reason", off.Reason))
	}
	if k.NoGPU != "" {
		log.Warn("the GPU is not used, the CPU computes everything: mend its driver, or try fewer --gpu-layers", slog.String("reason", k.NoGPU))
	}
	logLevel(log)
	log.Info("kernels of the CPU: " + k.String())
}

// logLevel logs for which level of CPUs the kernels are, where this build has several.
func logLevel(log *slog.Logger) {
	level, _ := native.Level() // an error has ended the program before
	if len(level.Failed) > 0 {
		log.Warn("this CPU says that it has more than works; kernels for a lower level compute instead, more slowly",
			slog.Any("failed", level.Failed), slog.String("used", level.Used))
	}
	if level.Used != "" {
		log.Info("level of the CPU: "+level.Used, slog.Any("offered", level.Offered), slog.Bool("forced", level.Forced))
	}
}
