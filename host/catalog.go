// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/hub"
	"github.com/penstock/penstock/host/library"
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

// modules shows the API the modules of clients, as catalog shows it the plugin folder.
type modules struct{ registry *registry.Modules }

var _ api.Modules = modules{}

// moduleID begins the id of a module; its SHA-256 follows.
const moduleID = "sha256:"

// List implements api.Modules.
func (m modules) List(client string) []api.ModuleInfo {
	list := []api.ModuleInfo{}
	for _, i := range m.registry.List(client) {
		list = append(list, moduleInfo(i))
	}
	return list
}

// Get implements api.Modules.
func (m modules) Get(client, id string) (api.ModuleInfo, error) {
	i, err := m.registry.Get(client, strings.TrimPrefix(id, moduleID))
	if err != nil {
		return api.ModuleInfo{}, moduleError(err)
	}
	return moduleInfo(i), nil
}

// Upload implements api.Modules.
func (m modules) Upload(ctx context.Context, client string, wasm []byte) (api.ModuleInfo, bool, error) {
	i, created, err := m.registry.Upload(ctx, client, wasm)
	switch {
	case err == nil:
		return moduleInfo(i), created, nil
	case ctx.Err() != nil:
		return api.ModuleInfo{}, false, refusal.ErrGone
	}
	return api.ModuleInfo{}, false, moduleError(err)
}

// Remove implements api.Modules.
func (m modules) Remove(client, id string) error {
	return moduleError(m.registry.Remove(client, strings.TrimPrefix(id, moduleID)))
}

func moduleInfo(i registry.ModuleInfo) api.ModuleInfo {
	info := api.ModuleInfo{
		ID: moduleID + i.SHA256, Object: "module", Size: i.Size, CreatedAt: i.Came.Unix(), ExpiresAt: i.Expires.Unix(),
		State: string(i.State), Exports: i.Exports, Error: i.Error, Faults: i.Faults, LastFault: i.LastFault, ModelErrors: modelErrors(i.Info),
	}
	info.Manifest, _ = json.Marshal(i.Manifest) // it was read from JSON
	return info
}

// moduleError turns what is wrong with a module into an error of the API. Its client alone is told
// what the module said: not the log.
func moduleError(err error) error {
	switch {
	case errors.Is(err, registry.ErrNoModule):
		return &refusal.Error{Kind: refusal.KindNotFound, Code: "module_not_found", Field: "id", Message: err.Error()}
	case errors.Is(err, registry.ErrQuota):
		return &refusal.Error{Kind: refusal.KindConflict, Code: "module_quota", Message: err.Error()}
	}
	err = pluginError(err, "")
	var refused *refusal.Error
	if errors.As(err, &refused) {
		refused.Public = "a client's module is refused: " + refused.Code
	}
	return err
}

// folder is the model folder for the API.
type folder struct{ *models }

var _ api.Folder = folder{}

// HubClient is a client of the hub that a configuration names, as the environment may, too.
func HubClient(endpoint, agent string) hub.Client {
	return hub.Client{Endpoint: cmp.Or(endpoint, os.Getenv("HF_ENDPOINT")), Token: os.Getenv("HF_TOKEN"), Agent: agent}
}

// Pull implements api.Folder. It takes models of the hub only: a URL would let the admin's key
// reach what only this machine can.
func (f folder) Pull(ctx context.Context, name string, notify func(api.PullProgress)) error {
	reference, err := hub.Parse(strings.TrimSuffix(name, ":latest"))
	if err != nil {
		return refusal.Invalid("model", "%v", err)
	}
	if reference.URL != nil {
		return refusal.Invalid("model", "model is a URL; only models of the hub can be pulled through the API: OWNER/NAME:QUANTISATION")
	}
	client := HubClient(f.config.Models.Hub, "penstock")
	client.Notify = func(e hub.Event) {
		switch e := e.(type) {
		case hub.Planned:
			notify(api.PullProgress{Status: "pulling " + e.Files[0].Name, Total: max(e.Total, 0), Completed: e.Have})
		case hub.Progress:
			notify(api.PullProgress{Status: "pulling", Total: max(e.Total, 0), Completed: e.Done})
		case hub.Retrying:
			notify(api.PullProgress{Status: "trying again: " + e.Err.Error()})
		case hub.Verifying:
			notify(api.PullProgress{Status: "verifying sha256 digest"})
		}
	}
	_, err = client.Pull(ctx, reference, hub.Options{Folder: f.library.Folder})
	return pullError(err)
}

// pullErrors are what can go wrong. What the hub does wrong is not internal, which clients would
// answer by trying again.
var pullErrors = []struct {
	err  error
	kind refusal.Kind
	code string
}{
	{hub.ErrReference, refusal.KindInvalid, "invalid_value"}, {hub.ErrNotFound, refusal.KindNotFound, "model_not_found"},
	{hub.ErrUnauthorized, refusal.KindHubForbids, "hub_refuses"}, {hub.ErrRateLimited, refusal.KindHubBusy, "hub_busy"},
	{hub.ErrServer, refusal.KindImpossible, "hub_fails"}, {hub.ErrHash, refusal.KindImpossible, "wrong_hash"},
	{hub.ErrNotModel, refusal.KindImpossible, "no_model"}, {hub.ErrSpace, refusal.KindImpossible, "no_space"},
	{hub.ErrBusy, refusal.KindConflict, "pulling_already"}, {hub.ErrTaken, refusal.KindConflict, "name_taken"},
}

func pullError(err error) error {
	for _, known := range pullErrors {
		if errors.Is(err, known.err) {
			return &refusal.Error{Kind: known.kind, Code: known.code, Field: "model", Message: err.Error()}
		}
	}
	if errors.Is(err, context.Canceled) {
		return refusal.ErrGone
	}
	return err
}

// Remove implements api.Folder. A model that is loaded is unloaded first.
func (f folder) Remove(name string) error {
	name = strings.TrimSuffix(name, ":latest")
	files, err := f.library.Removable(name)
	if errors.Is(err, library.ErrNotFound) {
		return serving.UnknownModel(name, library.Stems(f.library.Folder)...)
	}
	if err != nil {
		return err
	}
	if known, err := f.find(name); err == nil && (f.hasSeveral() || known == name) { // else it is not served
		if err := f.Unload(known); err != nil {
			return err
		}
	}
	return f.library.Remove(files)
}
