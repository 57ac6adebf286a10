// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
)

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
