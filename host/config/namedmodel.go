// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// namedModel is an entry of the section models whose value is a section of its own: a model with
// its settings, such as
//
//	models:
//	  small:
//	    path: qwen2.5-0.5b-q8_0
//	    ctx_size: 8192
//
// Its keys are those of the sections model, scheduler, chat and sampling.
type namedModel struct {
	name   string
	values map[string]any
	origin string
}

const modelsSection = "models"

// inheritedKeys are the keys of the section model that apply to every model without a value of its
// own. The others describe one model, as do keysOfOneModel.
var inheritedKeys = []string{"model.ctx_size", "model.threads", "model.gpu_layers", "model.fit", "model.fit_target", "model.fit_ctx", "model.kv_layout", "model.kernels", "model.strict",
	"model.device", "model.split_mode", "model.tensor_split", "model.main_gpu", "model.cpu_moe", "model.kv_offload", "model.op_offload", "model.repack", "model.no_host",
	"model.load_mode", "model.lazy_mode", "model.check_tensors", "model.threads_batch", "model.numa",
	"model.mmproj_auto", "model.mmproj_offload", "model.mmproj_device", "model.image_min_tokens", "model.image_max_tokens",
	"model.cache_type_k", "model.cache_type_v", "model.flash_attn", "model.swa_full"}

// keysOfAllModels are keys of the section model of which no model can have a value of its own.
var keysOfAllModels = map[string]bool{"kernels": true, "numa": true}

var keysOfOneModel = []string{"chat.template", "chat.template_file", "embedding.model", "rerank.model"}

// readNamedModels finds the entries in the file's own tree: a name may have dots.
func (l *loader) readNamedModels(file map[string]any, origin string) {
	section, _ := file[modelsSection].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(section)) {
		values, isSection := section[name].(map[string]any)
		known := l.find(modelsSection+"."+name) != nil
		if !isSection && (section[name] != nil || known) {
			continue // a key
		}
		if strings.TrimSpace(name) != name || name == "" {
			l.problems = append(l.problems, fmt.Errorf("%w %s.%q (%s): a name without white space around it", ErrWrongValue, modelsSection, name, origin))
			continue
		}
		l.models = append(l.models, namedModel{name, values, origin})
	}
}

// isOfNamedModel reports whether a flattened key belongs to a model's own section.
func (l *loader) isOfNamedModel(key string) bool {
	return slices.ContainsFunc(l.models, func(m namedModel) bool {
		prefix := modelsSection + "." + m.name
		return key == prefix || strings.HasPrefix(key, prefix+".")
	})
}

// buildNamedModels makes the configurations of the named models. What is wrong with them becomes a
// problem.
func (l *loader) buildNamedModels() map[string]Config {
	configs := map[string]Config{}
	for _, m := range l.models {
		own := &loader{settings: slices.Clone(l.settings)}
		own.resetForModel(m.name)
		for _, key := range slices.Sorted(maps.Keys(m.values)) {
			own.setModelKey(m, key)
		}
		own.fitMicroBatch()
		c, err := own.build()
		if err = errors.Join(append(own.problems, err)...); err != nil {
			l.problems = append(l.problems, fmt.Errorf("model %q (%s.%s): %w", m.name, modelsSection, m.name, err))
		}
		configs[m.name] = c
	}
	return configs
}

// resetForModel makes the settings those of a model by its name, without what the section model
// says of its own model.
func (l *loader) resetForModel(name string) {
	for i := range l.settings {
		s := &l.settings[i]
		if strings.HasPrefix(s.Key.Name, "model.") && !slices.Contains(inheritedKeys, s.Key.Name) || slices.Contains(keysOfOneModel, s.Key.Name) {
			s.Value, s.Origin = s.Key.Default, "default"
		}
	}
	path := l.find("model.path")
	path.Value, path.Origin = name, "the model's name"
}

// setModelKey sets a key of a model's own section.
func (l *loader) setModelKey(m namedModel, key string) {
	for _, section := range []string{"model.", "scheduler.", "chat.", samplingSection} {
		if !keysOfAllModels[key] && l.find(section+key) != nil {
			l.set(section+key, m.values[key], m.origin+", "+modelsSection+"."+m.name)
			return
		}
	}
	want := "keys of the sections model, scheduler, chat and sampling, such as path, ctx_size, slots and temperature"
	if keysOfAllModels[key] {
		want = "it is the same for all models: model." + key
	}
	l.problems = append(l.problems, &Problem{Key: modelsSection + "." + m.name + "." + key, Value: formatValue(m.values[key]), Origin: m.origin, Want: want, kind: ErrUnknownKey})
}
