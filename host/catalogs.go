// SPDX-License-Identifier: MIT

package host

import (
	"context"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/catalog"
	"github.com/penstock/penstock/host/refusal"
)

// catalogs shows the plugins to the API. All models use those of one folder, and each loads them for its own vocabulary: the first model
// shows them, or else the one that was used last. What is uploaded to one is a file in the folder, where the others find it.
type catalogs struct{ *models }

var _ api.Catalog = catalogs{}

// one is the catalog that shows the folder; nil while no model is loaded.
func (c catalogs) one() *catalog.Catalog {
	if first, loaded := c.set.Loaded(c.first); loaded {
		return first.catalog
	}
	if all := c.set.All(); len(all) > 0 {
		return all[0].catalog
	}
	return nil
}

func noModel() error {
	return &refusal.Error{Kind: refusal.KindConflict, Code: "no_model_loaded",
		Message: "plugins are loaded with a model, and none is loaded; name a model in a request, or load one with POST /models/load"}
}

// List implements api.Catalog.
func (c catalogs) List() []api.PluginInfo {
	if one := c.one(); one != nil {
		return one.List()
	}
	return []api.PluginInfo{}
}

// Get implements api.Catalog.
func (c catalogs) Get(name string) (api.PluginInfo, error) {
	if one := c.one(); one != nil {
		return one.Get(name)
	}
	return api.PluginInfo{}, noModel()
}

// Upload implements api.Catalog.
func (c catalogs) Upload(ctx context.Context, wasm []byte) (api.PluginInfo, bool, error) {
	if one := c.one(); one != nil {
		return one.Upload(ctx, wasm)
	}
	return api.PluginInfo{}, false, noModel()
}

// Try implements api.Catalog.
func (c catalogs) Try(ctx context.Context, wasm []byte) (api.PluginInfo, bool, error) {
	if one := c.one(); one != nil {
		return one.Try(ctx, wasm)
	}
	return api.PluginInfo{}, false, noModel()
}

// Remove implements api.Catalog.
func (c catalogs) Remove(ctx context.Context, name string) error {
	if one := c.one(); one != nil {
		return one.Remove(ctx, name)
	}
	return noModel()
}

// Reset implements api.Catalog. It ends the quarantine with every model.
func (c catalogs) Reset(name string) (api.PluginInfo, error) {
	one := c.one()
	if one == nil {
		return api.PluginInfo{}, noModel()
	}
	for _, r := range c.set.All() {
		if r.catalog != one {
			_, _ = r.catalog.Reset(name) // that model may not have found the plugin yet
		}
	}
	return one.Reset(name)
}
