// SPDX-License-Identifier: MIT

package policy

import (
	"slices"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
)

// arrange puts the plugins that a chain does not name where their manifests say. A plugin that is
// a template and nothing else has no place in the chain.
func arrange(chain []string, uses []use) []string {
	var first, last []string
	for _, u := range uses {
		entry := sampling.PluginEntry(u.Name)
		switch {
		case slices.Contains(chain, entry), u.plugin.Renders():
		case u.plugin.Manifest.Place == load.PlaceLast:
			last = append(last, entry)
		default:
			first = append(first, entry)
		}
	}
	return slices.Concat(first, chain, last)
}

// checkViews refuses a plugin that needs all logits if a stage before it drops some, and a plugin
// that is named twice.
func checkViews(chain []string, uses []use) error {
	narrowed := ""
	for i, entry := range chain {
		name, isPlugin := sampling.PluginNamed(entry)
		if !isPlugin {
			if s, err := sampling.SamplerNamed(entry); err == nil && s.Narrows {
				narrowed = entry
			}
			continue
		}
		view := find(uses, name).plugin.Manifest.View
		switch {
		case slices.Contains(chain[:i], entry):
			return refusal.Invalid("samplers", "samplers has %s twice; a plugin stands in one place", entry)
		case view == load.ViewLogits && narrowed != "":
			return refusal.Invalid("samplers", "%s sees all logits, so it must stand before %s, which drops some", entry, narrowed)
		case view == load.ViewCandidates:
			narrowed = entry
		}
	}
	return nil
}
