// SPDX-License-Identifier: MIT

package policy

import (
	"slices"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/sampling"
)

// arrange puts the plugins that a chain does not name where their manifests say. What is a template and nothing else has
// done its work by then.
func arrange(chain []string, uses []use) []string {
	var first, last []string
	for _, u := range uses {
		entry := sampling.PluginEntry(u.Name)
		switch {
		case slices.Contains(chain, entry), u.module.IsTemplate() && !u.module.IsStage() && !u.module.IsStop():
		case u.module.Manifest.Place == load.PlaceLast:
			last = append(last, entry)
		default:
			first = append(first, entry)
		}
	}
	return slices.Concat(first, chain, last)
}

// checkViews refuses a plugin that wants the whole row behind a stage that narrows it, and a plugin named twice.
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
		view := find(uses, name).module.Manifest.View
		switch {
		case slices.Contains(chain[:i], entry):
			return badUse("samplers", "samplers has %s twice; a plugin stands in one place", entry)
		case view == load.ViewLogits && narrowed != "":
			return badUse("samplers", "%s sees all logits, so it must stand before %s, which drops some", entry, narrowed)
		case view == load.ViewCandidates:
			narrowed = entry
		}
	}
	return nil
}
