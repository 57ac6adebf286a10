// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
)

// openEngine loads the weights and computes a first pass.
func (l *loader) openEngine(ctx context.Context, o engine.Options, file *model.File, remote *remoteModel) (*engine.Engine, error) {
	o.Name, o.Progress, o.Lacks, o.ControlVectors = l.Name, l.Progress, lacksOf(file, l.log), controlVectors(l.config.Model)
	o.Template = templateOptions(l.config.Chat, file.Template)
	e, err := engine.Open(ctx, o)
	if err != nil && remote != nil {
		err = cmp.Or(remote.workers.lost(), err) // which then is why
	}
	if err != nil {
		return nil, err
	}
	l.opened.add(e.Close)
	file.GPUComputed()
	return e, nil
}

// lacksOf says in the log what the model cannot do, and hands it on.
func lacksOf(f *model.File, log *slog.Logger) engine.Lacks {
	for _, l := range f.Lacks {
		log.Info("serving without a feature that llama.cpp lacks for this model", "without", l.What, "because", l.Why)
	}
	return engine.Lacks{
		Together: f.Lacks.Has(model.Together), Selecting: f.Lacks.Has(model.Selecting), Truncating: f.Lacks.Has(model.Truncating),
		Sharing: f.Lacks.Has(model.Sharing), Saving: f.Lacks.Has(model.Saving),
	}
}

func controlVectors(m config.Model) (v engine.ControlVectors) {
	for _, path := range m.ControlVector {
		v.Vectors = append(v.Vectors, engine.ControlVector{Path: path, Scale: 1})
	}
	for _, text := range m.ControlVectorScaled {
		if path, scale, err := config.ParseScaled(text); err == nil { // it was checked
			v.Vectors = append(v.Vectors, engine.ControlVector{Path: path, Scale: scale})
		}
	}
	v.First, v.Last, _ = config.ParseLayers(m.ControlVectorLayerRange) // it was checked
	return v
}

// templateOptions are what the configuration says of chat templates.
func templateOptions(c config.Chat, template model.Template) engine.TemplateOptions {
	o := engine.TemplateOptions{Source: template.Source, ReasoningFormat: c.ReasoningFormat, NoThinking: c.Reasoning == "off",
		NoPrefill: !c.PrefillAssistant, Args: map[string]json.RawMessage{}}
	if c.TemplateArgs != "" {
		_ = json.Unmarshal([]byte(c.TemplateArgs), &o.Args) // it was checked
	}
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
