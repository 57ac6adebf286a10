// SPDX-License-Identifier: MIT

package policy

import (
	"slices"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/sampling"
)

// use is a plugin that a request uses.
type use struct {
	completion.PluginUse
	plugin *load.Plugin
}

// resolve finds the operator's plugins, those of the request, and those that only its chain names. The caller releases them, also
// after an error.
//
// The operator's plugins have no client, so no quarantine applies to them: every request tries them anew. If they were skipped, what
// the operator demands would be gone without a word. If they were refused, nothing would be served any more.
func (b *Builder) resolve(list []completion.PluginUse, chain []string) ([]use, error) {
	var uses []use
	for _, name := range b.defaults {
		uses = append(uses, use{PluginUse: completion.PluginUse{Name: name, Field: "plugins"}})
	}
	for _, u := range list {
		if slices.Contains(b.defaults, u.Name) {
			if err := checkDefault(u); err != nil {
				return nil, err
			}
			of := find(uses, u.Name)
			of.SHA256, of.Field = u.SHA256, u.Field
			continue
		}
		uses = append(uses, use{PluginUse: u})
	}
	for _, name := range chain {
		if name, ok := sampling.PluginNamed(name); ok && find(uses, name) == nil {
			uses = append(uses, use{PluginUse: completion.PluginUse{Name: name, Field: "samplers"}})
		}
	}
	for i := range uses {
		u := &uses[i]
		var err error
		if u.plugin, err = b.registry.Find(u.Name); err != nil {
			return uses, useError(u, err)
		}
		if u.SHA256 != "" && u.SHA256 != u.plugin.SHA256 {
			return uses, completion.Invalid(u.Field+".sha256", "%s.sha256 is %s; plugin %q of this server is %s: leave the field out, or have that version installed",
				u.Field, u.SHA256, u.Name, u.plugin.SHA256)
		}
		if u.Config, err = u.plugin.CheckConfig(u.Config); err != nil {
			return uses, useError(u, err)
		}
	}
	return uses, nil
}

// checkDefault refuses to have one of the operator's plugins changed by a request.
func checkDefault(u completion.PluginUse) error {
	field, value := u.Field+".on_error", `"skip"`
	switch {
	case len(u.Config) > 0:
		field, value = u.Field+".config", excerpt.Of(string(u.Config), 80)
	case !u.Skip:
		return nil
	}
	return completion.Invalid(field, "%s is %s; every request here uses plugin %q as the operator has set it up: leave the field out", field, value, u.Name)
}

func release(uses []use) {
	for _, u := range uses {
		if u.plugin != nil {
			u.plugin.Release()
		}
	}
}

func find(uses []use, name string) *use {
	for i := range uses {
		if uses[i].Name == name {
			return &uses[i]
		}
	}
	return nil
}
