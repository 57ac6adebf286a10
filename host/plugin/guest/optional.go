// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// missing stands for a function that the host does not have: the plugin should have asked with
// feature first.
func missing(name string) rawFunction {
	return func(*Instance, []uint64) {
		panic(Violationf(plugin.CauseCall, "this host has no %s; ask feature before calling what is optional", name))
	}
}

// checkOptional checks the type of an optional import that the host has. One that it does not have
// may have any type.
func checkOptional(f api.FunctionDefinition, need map[string]string) error {
	_, name, _ := f.Import()
	if want, ok := need[name]; ok && typeOf(f) != want {
		return fmt.Errorf("%w: %s.%s with type %s, it has %s", plugin.ErrImport, abi.Optional, name, typeOf(f), want)
	}
	return nil
}
