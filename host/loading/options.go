// SPDX-License-Identifier: MIT

package loading

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
)

// Names of the weights that llama-server's --n-cpu-moe and --n-cpu-ffn mean, as regular
// expressions.
const (
	experts = `\.ffn_(up|down|gate|gate_up)_(ch|)exps`
	denseFF = `\.ffn_(up|down|gate)\.`
)

// engineOptions are the configured sizes and devices of a model.
func engineOptions(c config.Config) engine.Options {
	slots := c.Scheduler.Slots
	return engine.Options{
		Slots: slots, CacheSequences: min(slots, engine.MaxSequences-slots), ContextSize: c.Model.CtxSize, Batch: c.Scheduler.BatchSize,
		UBatch: c.Scheduler.UBatchSize, Threads: c.Model.Threads, GPULayers: c.Model.GPULayers, KVLayout: c.Model.KVLayout,
		Model: modelOptions(c.Model), Context: contextOptions(c.Model), DraftRows: draftRows(c.Speculation), Snapshots: snapshots(c.Speculation),
	}
}

// modelOptions says how llama.cpp is to load a model.
func modelOptions(c config.Model) native.ModelOptions {
	o := native.ModelOptions{
		Devices: c.Device, TensorSplit: c.TensorSplit, SplitMode: c.SplitMode, MainGPU: c.MainGPU, LoadMode: c.LoadMode, LazyMode: c.LazyMode,
		GPULayers: c.GPULayers, CheckTensors: c.CheckTensors, NoRepack: !c.Repack, NoHost: c.NoHost,
	}
	for _, t := range c.OverrideTensor {
		o.TensorOverrides = append(o.TensorOverrides, native.TensorOverride(t))
	}
	for _, m := range c.OverrideKV {
		o.KVOverrides = append(o.KVOverrides, native.MetadataOverride(m))
	}
	onCPU := func(pattern string) {
		o.TensorOverrides = append(o.TensorOverrides, native.TensorOverride{Pattern: pattern, Buffer: "CPU"})
	}
	if c.CPUMoE {
		onCPU(experts)
	}
	for layer := range c.NCPUMoE {
		onCPU(fmt.Sprintf(`blk\.%d%s`, layer, experts))
	}
	for layer := range c.NCPUFFN {
		onCPU(fmt.Sprintf(`blk\.%d%s`, layer, denseFF))
	}
	return o
}

// contextOptions says how llama.cpp is to compute.
func contextOptions(c config.Model) native.ContextOptions {
	rope := native.Rope{FreqBase: float32(c.RopeFreqBase), FreqScale: float32(c.RopeFreqScale)}
	if c.RopeScale > 0 {
		rope.FreqScale = 1 / float32(c.RopeScale)
	}
	if c.RopeScaling != "model" {
		rope.Scaling = c.RopeScaling
	}
	yarn := native.YaRN{
		OrigCtx: c.YarnOrigCtx, ExtFactor: float32(c.YarnExtFactor), AttnFactor: float32(c.YarnAttnFactor),
		BetaSlow: float32(c.YarnBetaSlow), BetaFast: float32(c.YarnBetaFast),
	}
	if yarn != (native.YaRN{OrigCtx: 0, ExtFactor: -1, AttnFactor: -1, BetaSlow: -1, BetaFast: -1}) {
		rope.YaRN = &yarn
	}
	return native.ContextOptions{
		ThreadsBatch: c.ThreadsBatch, Rope: rope, FlashAttention: c.FlashAttn, TypeK: c.CacheTypeK, TypeV: c.CacheTypeV,
		NoKVOffload: !c.KVOffload, NoOpOffload: !c.OpOffload, FullWindowCache: c.SWAFull,
	}
}

// mostDraftRows is how many rows a pass has for guessed tokens of all slots: a row of a vocabulary
// of 128,256 takes half a megabyte.
const mostDraftRows = 32

// useHead has the model at a path loaded with the head that is to guess for it, if there is one:
// the configured draft model, if that is a head and not a model by itself, or what is in the
// model's own file. It changes both: the options then load the head, and the configuration names
// it as a draft model no more. It returns llama-server's name of the type that a head would have;
// whether one is loaded is LoadMTP.
func useHead(c *config.Config, o *native.ModelOptions, path string) string {
	const own = "draft-mtp"
	if len(c.Workers.RPC) > 0 {
		return ""
	}
	s, options := &c.Speculation, model.CheckOptions{Folder: c.Models.Dir}
	if s.ByModel() && slices.ContainsFunc(s.Type, func(name string) bool {
		return slices.Contains([]string{own, "draft-eagle3", "draft-dflash", "draft-dspark"}, name)
	}) {
		head, kind := model.HeadFile(s.DraftModel, options)
		if head != "" {
			s.DraftModel, o.Head, o.LoadMTP = "", head, true
			s.Type = slices.DeleteFunc(slices.Clone(s.Type), func(name string) bool { return name == "draft-simple" }) // which has no model then
		}
		return kind
	}
	o.LoadMTP = s.ByHead() && model.HasHead(path, options)
	return own
}

// draftRows is how many of them there are.
func draftRows(c config.Speculation) int {
	if !c.Drafts() {
		return 0
	}
	return max(mostDraftRows, c.DraftNMax)
}

// mostSnapshots bounds the drafts of recurrent models: each token takes the memory of one more
// state of each sequence.
const mostSnapshots = 8

// snapshots is how many states of a recurrent model drafts can go back to.
func snapshots(c config.Speculation) int {
	if !c.Drafts() {
		return 0
	}
	return min(mostSnapshots, c.DraftNMax)
}

// completeOptions adds to the options what only the model's file tells.
func completeOptions(o engine.Options, c config.Config, file *model.File, log *slog.Logger) engine.Options {
	o.Parts, o.Lacks, o.ControlVectors, o.Template = file.Parts, lacksOf(file, log), controlVectors(c.Model), templateOptions(c.Chat, file.Template)
	return o
}

// lacksOf says in the log what the model cannot do, and hands it on.
func lacksOf(f *model.File, log *slog.Logger) engine.Lacks {
	for _, l := range f.Lacks {
		log.Info("serving without a feature that llama.cpp lacks for this model", "without", l.What, "because", l.Why)
	}
	return engine.Lacks{
		Together: f.Lacks.Has(model.Together), Selecting: f.Lacks.Has(model.Selecting), Truncating: f.Lacks.Has(model.Truncating),
		Sharing: f.Lacks.Has(model.Sharing), Saving: f.Lacks.Has(model.Saving), Heads: f.Lacks.Has(model.Heads),
	}
}

func controlVectors(m config.Model) (v engine.ControlVectors) {
	for _, path := range m.ControlVector {
		v.Vectors = append(v.Vectors, engine.ControlVector{Path: path, Scale: 1})
	}
	for _, s := range m.ControlVectorScaled {
		v.Vectors = append(v.Vectors, engine.ControlVector(s))
	}
	v.First, v.Last = m.ControlVectorLayerRange.First, m.ControlVectorLayerRange.Last
	return v
}

// templateOptions are the configuration of chat templates.
func templateOptions(c config.Chat, template model.Template) engine.TemplateOptions {
	o := engine.TemplateOptions{Source: template.Source, ReasoningFormat: c.ReasoningFormat, NoThinking: c.Reasoning == "off",
		NoPrefill: !c.PrefillAssistant, Args: map[string]json.RawMessage{}}
	maps.Copy(o.Args, c.TemplateArgs)
	set := func(name string, value any) { o.Args[name], _ = json.Marshal(value) }
	if _, given := o.Args["preserve_reasoning"]; !given || !c.ReasoningPreserve {
		set("preserve_reasoning", c.ReasoningPreserve)
	}
	if c.Reasoning != "auto" {
		set("enable_thinking", c.Reasoning == "on")
	}
	if c.ReasoningEffort != "default" {
		set("reasoning_effort", c.ReasoningEffort)
	}
	return o
}

// fileSampling are the names of a request for those that a model's file has (general.sampling).
var fileSampling = map[string]string{"sequence": "samplers", "temp": "temperature", "penalty_last_n": "repeat_last_n", "penalty_repeat": "repeat_penalty",
	"top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "xtc_probability": "xtc_probability", "xtc_threshold": "xtc_threshold",
	"mirostat": "mirostat", "mirostat_tau": "mirostat_tau", "mirostat_eta": "mirostat_eta"}

// sampling are the parameters of requests that do not say them: what the configuration says, else
// the model's file, else llama.cpp.
func (l *loader) sampling(e *engine.Engine) (*sampling.Defaults, error) {
	brought := map[string]string{}
	if l.config.Sampling.FromModel {
		brought = l.broughtBy(e.Info().Sampling)
	}
	if len(brought) > 0 {
		l.log.Info("the model's file brings sampling parameters, for requests that do not say them; --no-model-sampling ignores them",
			slog.Any("sampling", brought))
	}
	return sampling.NewDefaults(brought, l.config.SamplingSaid())
}

// broughtBy keeps what a model's file suggests and can be used, under the names of a request.
func (l *loader) broughtBy(file map[string]string) map[string]string {
	brought := map[string]string{}
	for key, text := range file {
		name, known := fileSampling[key]
		if !known {
			continue // of a later llama.cpp
		}
		if _, err := sampling.Default().Over(map[string]string{name: text}); err != nil {
			l.log.Warn("a sampling parameter of the model's file is ignored", slog.String("key", "general.sampling."+key), slog.Any("error", err))
			continue
		}
		brought[name] = text
	}
	return brought
}
