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

// checkProgram checks the manifest of a program, and that the plugin implements nothing that uses
// what the program owns.
func (p *Plugin) checkProgram() error {
	m := &p.Manifest
	if !p.IsProgram() {
		if m.Branches != 0 || m.BranchesConfig != "" {
			return fmt.Errorf("%w: branches are for plugins with %s", plugin.ErrManifest, abi.ExportRun)
		}
		return nil
	}
	for _, e := range []guest.Export{guest.Prepare, guest.Sample, guest.Accept, guest.Stop, guest.Rewind, guest.Template} {
		if p.Module.Has(e) {
			return fmt.Errorf("%w: it has %s and %s; a program is called for no token and writes no prompt", plugin.ErrExport, abi.ExportRun, e)
		}
	}
	if m.Branches == 0 {
		m.Branches = 1
	}
	if m.Branches < 1 || m.Branches > abi.LimitBranches {
		return fmt.Errorf("%w: branches is %d; it must be from 1 to %d", plugin.ErrManifest, m.Branches, abi.LimitBranches)
	}
	return nil
}
