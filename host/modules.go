// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/refusal"
)

// modules are those of clients for the API, as catalog is the folder.
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
