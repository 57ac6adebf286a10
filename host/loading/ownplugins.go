// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/refusal"
)

// OwnPlugin is a plugin that a program uses in a request of its own. It is one of the folders
// plugins.dir and plugins.bundled, by its Name, or it is what Module or Script has.
type OwnPlugin struct {
	Name   string `json:"name,omitempty"`   // of a Module or a Script: what it is called in the request; "": the usual
	Module []byte `json:"-"`                // WebAssembly; the model keeps at most 16 for an hour after their last use
	Script string `json:"script,omitempty"` // JavaScript
	Config any    `json:"config,omitempty"`
	Skip   bool   `json:"-"` // after a fault the answer goes on without the plugin
}

// Entries are plugins of a program as the API has them. Modules that are new are loaded.
func (p *Plugins) Entries(ctx context.Context, plugins []OwnPlugin) (json.RawMessage, error) {
	type entry struct {
		OwnPlugin
		Module  string `json:"module,omitempty"`
		OnError string `json:"on_error,omitempty"`
	}
	list := make([]entry, len(plugins))
	for i, own := range plugins {
		if list[i].OwnPlugin = own; own.Skip {
			list[i].OnError = "skip"
		}
		if own.Module == nil {
			continue
		}
		info, _, err := p.Modules.Upload(ctx, "", own.Module)
		if err != nil {
			return nil, &refusal.PluginFault{RequestError: refusal.RequestError{Code: "module_invalid", Field: "plugins", Message: plugin.Told(err), Err: err}}
		}
		list[i].Module = "sha256:" + info.SHA256
	}
	return json.Marshal(list)
}
