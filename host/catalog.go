// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// catalog is the folder of plugins for the API. It puts the registry's answers and errors into the
// words of package api, so that neither package knows the other.
type catalog struct {
	*loading.Plugins
}

var _ api.Catalog = catalog{}

// List implements api.Catalog.
func (c catalog) List() []api.PluginInfo {
	list := []api.PluginInfo{}
	for _, i := range c.Registry.List() {
		list = append(list, c.info(i))
	}
	return list
}

// Get implements api.Catalog.
func (c catalog) Get(name string) (api.PluginInfo, error) {
	i, err := c.Registry.Get(name)
	return c.info(i), pluginError(err, "name")
}

// Upload implements api.Catalog.
func (c catalog) Upload(ctx context.Context, wasm []byte) (api.PluginInfo, bool, error) {
	i, created, err := c.Registry.Upload(ctx, wasm)
	return c.info(i), created, pluginError(err, "")
}

// Try implements api.Catalog.
func (c catalog) Try(ctx context.Context, wasm []byte) (api.PluginInfo, bool, error) {
	i, created, err := c.Registry.Try(ctx, wasm)
	return c.info(i), created, pluginError(err, "")
}

// UploadScript implements api.Catalog.
func (c catalog) UploadScript(ctx context.Context, name string, source []byte) (api.PluginInfo, bool, error) {
	i, created, err := c.Registry.UploadScript(ctx, name, source)
	return c.info(i), created, pluginError(err, "")
}

// TryScript implements api.Catalog.
func (c catalog) TryScript(ctx context.Context, name string, source []byte) (api.PluginInfo, bool, error) {
	i, created, err := c.Registry.TryScript(ctx, name, source)
	return c.info(i), created, pluginError(err, "")
}

// Source implements api.Catalog.
func (c catalog) Source(name string) ([]byte, error) {
	source, err := c.Registry.Source(name)
	return source, pluginError(err, "name")
}

// Remove implements api.Catalog.
func (c catalog) Remove(ctx context.Context, name string) error {
	if len(c.PoliciesOf(name)) > 0 {
		return &refusal.Error{Kind: refusal.KindConflict, Code: "plugin_in_use", Field: "name",
			Message: fmt.Sprintf("requests have to use plugin %q (plugins.default and plugins.policy_file); it can be replaced, not removed", name)}
	}
	return pluginError(c.Registry.Remove(ctx, name), "name")
}

// Reset implements api.Catalog.
func (c catalog) Reset(name string) (api.PluginInfo, error) {
	i, err := c.Registry.Reset(name)
	return c.info(i), pluginError(err, "name")
}

func (c catalog) info(i registry.Info) api.PluginInfo {
	always := func(p serving.PolicyInfo) bool {
		return p.Mode == "required" && p.Models == nil && p.Routes == nil && !p.SomeKeys
	}
	info := api.PluginInfo{
		Name: i.Name, SHA256: i.SHA256, State: string(i.State), Exports: i.Exports, File: i.File, Bundled: i.Bundled, Size: i.Size, Error: i.Error,
		Faults: i.Faults, LastFault: i.LastFault, Policies: c.PoliciesOf(i.Name), ModelErrors: modelErrors(i),
	}
	info.Default = slices.ContainsFunc(info.Policies, always)
	if !i.FaultedAt.IsZero() {
		info.FaultedAt = &i.FaultedAt
	}
	if i.Manifest != nil {
		info.Manifest, _ = json.Marshal(i.Manifest) // it was read from JSON
	}
	return info
}

func modelErrors(i registry.Info) (list []api.PluginModelError) {
	for _, e := range i.ModelErrors {
		list = append(list, api.PluginModelError{Model: e.Model, Error: e.Error})
	}
	return list
}

// pluginError turns what is wrong with a plugin or its name into an error of the API.
func pluginError(err error, param string) error {
	kind, code := refusal.KindImpossible, "invalid_plugin"
	var fault *plugin.Fault
	var refused *plugin.Refusal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, plugin.ErrUnknown):
		kind, code = refusal.KindNotFound, "plugin_not_found"
	case errors.Is(err, plugin.ErrLoading):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "plugin_loading", Field: param, Message: err.Error(), Retry: 2}
	case errors.Is(err, plugin.ErrBusy):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "busy", Field: param, Message: err.Error(), Retry: 1}
	case errors.Is(err, registry.ErrReserved), errors.Is(err, registry.ErrOtherKind):
		kind, code = refusal.KindConflict, "plugin_name_taken"
	case errors.Is(err, registry.ErrBundled):
		kind, code = refusal.KindConflict, "plugin_bundled"
	case errors.Is(err, registry.ErrNoScript):
		kind, code = refusal.KindNotFound, "no_script"
	case errors.Is(err, plugin.ErrTooLarge):
		kind, code = refusal.KindTooLarge, "plugin_too_large"
	case errors.Is(err, plugin.ErrNotWasm):
		kind, code = refusal.KindInvalid, "not_wasm"
	case errors.Is(err, registry.ErrLate):
		code = "upload_timeout"
	case errors.As(err, &fault), errors.As(err, &refused), errors.Is(err, plugin.ErrUnsupported), errors.Is(err, plugin.ErrVersion),
		errors.Is(err, plugin.ErrImport), errors.Is(err, plugin.ErrExport), errors.Is(err, plugin.ErrManifest), errors.Is(err, plugin.ErrLimit), errors.Is(err, plugin.ErrLocked), errors.Is(err, plugin.ErrScript):
	default:
		return err
	}
	return &refusal.Error{Kind: kind, Code: code, Field: param, Message: plugin.Told(err)}
}
