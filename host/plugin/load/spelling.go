// SPDX-License-Identifier: MIT

package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/spelling"
	"github.com/penstock/penstock/plugins/abi"
)

// exportPrefix begins the names of all exports of this ABI and of later ones.
const exportPrefix = "penstock_"

// checkSpelling refuses an export with the ABI's prefix that the ABI does not have. It would never
// be called, and the plugin would seem to do nothing. What the manifest lists as optional may be
// there, and so may everything if it says what is to be called.
func checkSpelling(names []string, m *Manifest) error {
	if m.Implements != nil {
		return nil
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, exportPrefix) || slices.Contains(m.Optional, name) || abi.Has(abi.Exports, name) {
			continue
		}
		return fmt.Errorf("%w: %s is no export of ABI v1; %s is the nearest. If it is for hosts that know it, name it in the manifest's list optional",
			plugin.ErrExport, name, nearest(name))
	}
	return nil
}

// nearest is the export of the ABI that takes the fewest edits.
func nearest(name string) string {
	best, least := "", 0
	for _, s := range abi.Exports {
		if n := spelling.Distance(name, s.Name); best == "" || n < least {
			best, least = s.Name, n
		}
	}
	return best
}
