// SPDX-License-Identifier: MIT

package load

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// implements reports whether the plugin implements an export: the module, which has exports, has
// it, and so has the manifest's list, if there is one.
func (m *Manifest) implements(exports []string, export string) bool {
	return slices.Contains(exports, export) && (m.Implements == nil || slices.Contains(m.Implements, export))
}

// checkImplements refuses a list with something that cannot be called, or without something that
// the plugin cannot do without.
func (m *Manifest) checkImplements(exports []string) error {
	for _, name := range m.Implements {
		switch {
		case !abi.Has(abi.Exports, name) && slices.Contains(m.Optional, name):
		case !abi.Has(abi.Exports, name):
			return fmt.Errorf("%w: implements names %q, which is no export of ABI v1; %s is the nearest. If it is for hosts that know it, name it in optional too",
				plugin.ErrManifest, name, nearest(name))
		case !slices.Contains(exports, name):
			return fmt.Errorf("%w: implements names %s, which the module does not export", plugin.ErrManifest, name)
		}
	}
	binds := ""
	switch {
	case m.View != ViewNone:
		binds = fmt.Sprintf("the view %q", m.View)
	case m.implements(exports, abi.ExportStop):
		binds = abi.ExportStop
	case m.implements(exports, abi.ExportFilter):
		binds = abi.ExportFilter
	}
	if m.Implements != nil && binds != "" && !m.implements(exports, abi.ExportOpen) {
		return fmt.Errorf("%w: implements lacks %s, which binds the buffer of %s", plugin.ErrManifest, abi.ExportOpen, binds)
	}
	return nil
}
