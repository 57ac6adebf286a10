// SPDX-License-Identifier: MIT

package fuel

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// SaveGlobals returns the values of the globals named in names, which are
// those of Module.Globals.
func SaveGlobals(instance api.Module, names []string) ([]uint64, error) {
	values := make([]uint64, len(names))
	for i, name := range names {
		g := instance.ExportedGlobal(name)
		if g == nil {
			return nil, fmt.Errorf("no global %q: %w", name, errNotMetered)
		}
		values[i] = g.Get()
	}
	return values, nil
}

// LoadGlobals sets in another instance of the same module what SaveGlobals
// returned.
func LoadGlobals(instance api.Module, names []string, values []uint64) error {
	for i, name := range names {
		g, ok := instance.ExportedGlobal(name).(api.MutableGlobal)
		if !ok || i >= len(values) {
			return fmt.Errorf("no mutable global %q: %w", name, errNotMetered)
		}
		g.Set(values[i])
	}
	return nil
}
