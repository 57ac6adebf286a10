// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
)

// describe describes the model to clients and in the log.
func (l *loader) describe(e *engine.Engine, file *model.File, remote *remoteModel, media *mediaEncoder) serving.Info {
	c, info := l.config, infoOf(e, file)
	if remote != nil {
		info.Workers = remote.workers.describe()
	}
	info.Thinking = &sampling.Thinking{Budget: c.Chat.ReasoningBudget, Message: c.Chat.ReasoningMessage}
	info.Schemas = sampling.SchemaOptions(c.Schema.PropertyOrder, c.Schema.AdditionalProperties, c.Schema.WhiteSpace)
	info.Media, info.Projector = media.abilities(), l.projector
	info.Slots, info.Batch, info.Tags = c.Scheduler.Slots, c.Scheduler.BatchSize, c.Model.Tags
	info.Programs = serving.Programs{Branches: c.Programs.Branches, Tokens: c.Programs.Tokens}
	info.NoTemplate = !e.Info().HasTemplate && c.Chat.Template == "" && c.Chat.TemplateFile == ""
	if len(c.Model.Alias) > 0 {
		info.Aliases = c.Model.Alias
	}
	if info.Options = c.Changed(); len(info.Options) > 0 {
		l.log.Info("llama.cpp's options that differ from the defaults", slog.Any("options", info.Options))
	}
	logKernels(l.log, info.Kernels)
	return info
}

func infoOf(e *engine.Engine, f *model.File) serving.Info {
	info := e.Info()
	created := time.Now()
	if stat, err := os.Stat(f.Path); err == nil {
		created = stat.ModTime()
	}
	return serving.Info{
		Name: info.Name, Path: f.Path, Created: created, Family: info.Architecture, Thinks: info.Thinks, FileType: info.FileType, BuiltIn: f.BuiltIn,
		Context: info.Limits.Positions, Training: info.ContextTrain, Vocabulary: info.Vocabulary, Embedding: info.Embedding,
		Parameters: info.Parameters, Size: info.Size, Template: info.Template,
		BOS: special(e, info.Special.BOS), EOS: special(e, info.Special.EOS),
		Kernels: kernelsOf(e, f), Ends: e.Ends(), VocabType: info.VocabType, TemplateCaps: info.TemplateCaps, ToolTemplate: info.ToolTemplate,
		AddBOS: info.AddBOS, BOSToken: info.Special.BOS, FIM: serving.FIM{Prefix: info.Special.FIMPrefix, Suffix: info.Special.FIMSuffix,
			Middle: info.Special.FIMMiddle, Repository: info.Special.FIMRepository, Separator: info.Special.FIMSeparator},
	}
}

func special(e *engine.Engine, t int32) string {
	if t < 0 {
		return ""
	}
	return e.Piece(t)
}

// kernelsOf tells which kernels are in use. The layout of the weights shows whose matrix products,
// and the first pass shows whose attention kernel. If no attention kernel of the CPU was called,
// attention consists of products, or the CPU does not compute it.
func kernelsOf(e *engine.Engine, f *model.File) serving.Kernels {
	out := serving.Kernels{Attention: cmp.Or(native.AttentionKernels(), native.PlainKernels.String()), Weights: []serving.WeightKernels{}, Off: []serving.KernelOff{}}
	for _, w := range e.Info().Weights {
		out.Weights = append(out.Weights, serving.WeightKernels{Type: w.Type.String(), Kernels: w.Kernels, Bytes: w.Bytes})
	}
	if f.NoGPU != nil {
		out.NoGPU = f.NoGPU.Error()
	}
	for _, b := range f.Broken {
		out.Off = append(out.Off, serving.KernelOff{Kernel: b.String(), Reason: b.Reason})
	}
	return out
}

// logKernels logs which kernels are in use, and warns of those that are broken.
func logKernels(log *slog.Logger, k serving.Kernels) {
	for _, off := range k.Off {
		log.Warn("a kernel of this CPU is broken and is not used; another computes instead, perhaps more slowly",
			slog.String("kernel", off.Kernel), slog.String("reason", off.Reason))
	}
	if k.NoGPU != "" {
		log.Warn("the GPU is not used, the CPU computes everything: fix its driver, or try fewer --gpu-layers", slog.String("reason", k.NoGPU))
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
