// SPDX-License-Identifier: MIT

package registry

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/script"
)

// ErrReserved refuses a plugin with the name of the built-in one that runs scripts, and the removal
// of that. No file and no upload can have it.
var ErrReserved = errors.New("the name is that of a built-in plugin")

var errReserved = fmt.Errorf("%w: %q runs scripts and comes with the server, so it can be neither replaced nor removed; give yours another name. "+
	"plugins.scripts says who may bring scripts", ErrReserved, script.Name)

// ErrOtherKind refuses an upload whose name a plugin of the other kind has: a module or a script.
var ErrOtherKind = errors.New("a plugin of another kind is called so")

// ErrNoScript refuses to show the source of a plugin that is none.
var ErrNoScript = errors.New("it is a module, which has no source here")

// isScript reports whether a file is a script, by its name.
func isScript(base string) bool { return filepath.Ext(base) == load.ScriptSuffix }

// isBuiltIn reports whether a name is that of the built-in plugin, where requests may use it.
func (g *Registry) isBuiltIn(name string) bool { return name == script.Name && g.scripts }

// builtIn describes the plugin that runs scripts. Nobody has it loaded only to look at it.
func (g *Registry) builtIn() Info {
	sum, size, p, err := g.loader.LoadedInterpreter()
	i := Info{Name: script.Name, SHA256: sum, Size: int64(size), State: StateReady}
	switch {
	case p != nil:
		i.describe(p, g.loader.Models())
		// They are those of everybody's scripts, which are nobody else's business. Metrics count them.
		i.Faults, i.LastFault, i.FaultedAt = 0, "", time.Time{}
		if i.State == StateQuarantined {
			i.State = StateReady
		}
	case err != nil:
		i.State, i.Error = StateFailed, plugin.Told(err)
	}
	return i
}

// Source is that of a plugin that is a script, as its file has it now. The error wraps ErrUnknown
// or ErrNoScript.
func (g *Registry) Source(name string) ([]byte, error) {
	base := g.baseOf(name)
	switch {
	case base == "" && !g.isBuiltIn(name):
		return nil, plugin.Unknown(name)
	case !isScript(base):
		return nil, fmt.Errorf("%q: %w", name, ErrNoScript)
	}
	source, err := readAtMost(filepath.Join(g.dir, base), g.loader.Limits().Module.ModuleBytes)
	if err != nil {
		return nil, fmt.Errorf("failed to read the script: %w", err)
	}
	return source, nil
}
