// SPDX-License-Identifier: MIT

package load

import (
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
)

// IsProgram reports whether the plugin owns its request: it has penstock_run.
func (p *Plugin) IsProgram() bool { return p.Module.Has(guest.Run) }

// Branches is how many branches the plugin has at once in a request with this configuration, which
// CheckConfig has checked; 0: it is no program. Where the configuration does not say, it is as
// many as the manifest says.
func (p *Plugin) Branches(config json.RawMessage) int {
	m := &p.Manifest
	if !p.IsProgram() || m.BranchesConfig == "" {
		return m.Branches
	}
	var properties map[string]json.RawMessage
	asked := 0
	if json.Unmarshal(config, &properties) != nil || json.Unmarshal(properties[m.BranchesConfig], &asked) != nil {
		return m.Branches
	}
	return max(1, min(asked, m.Branches))
}

// checkExports checks that what the plugin implements goes together. Of one that plans this is
// checked for each plan.
func (p *Plugin) checkExports() error {
	if !p.Module.Has(guest.Plan) {
		return p.Manifest.checkProgram(p.Module)
	}
	if why := p.Module.Immovable(); why != "" {
		return fmt.Errorf("%w: %s cannot be called: %s, so no copy of what it leaves in memory can be made; leave it out", plugin.ErrExport, abi.ExportPlan, why)
	}
	return p.Manifest.checkBranches(p.Module)
}

// checkProgram checks the manifest of a program, and that the plugin implements nothing that uses
// what the program owns.
func (m *Manifest) checkProgram(module *guest.Module) error {
	if module.Has(guest.Run) {
		for _, e := range []guest.Export{guest.Prepare, guest.Sample, guest.Accept, guest.Stop, guest.Filter, guest.Rewind, guest.Template} {
			if module.Has(e) {
				return fmt.Errorf("%w: it has %s and %s; a program is called for no token and writes no prompt", plugin.ErrExport, abi.ExportRun, e)
			}
		}
	}
	return m.checkBranches(module)
}

// checkBranches checks how many branches a program has, and fills that in.
func (m *Manifest) checkBranches(module *guest.Module) error {
	if !module.Has(guest.Run) {
		if m.Branches != 0 || m.BranchesConfig != "" {
			return fmt.Errorf("%w: branches are for plugins with %s", plugin.ErrManifest, abi.ExportRun)
		}
		return nil
	}
	if m.Branches == 0 {
		m.Branches = 1
	}
	if m.Branches < 1 || m.Branches > abi.LimitBranches {
		return fmt.Errorf("%w: branches is %d; it must be from 1 to %d", plugin.ErrManifest, m.Branches, abi.LimitBranches)
	}
	return nil
}
