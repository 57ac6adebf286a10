// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// Plugins that the chain does not name stand where their manifests say, and else where their view
// is of use.
func TestArrange_TheManifestsHint(t *testing.T) {
	loader := load.New(plugin.HostOptions{})
	var uses []use
	for _, manifest := range []string{
		`{"name":"plain"}`, `{"name":"early","place":"first"}`, `{"name":"blind","view":"none"}`, `{"name":"late","view":"none","place":"last"}`,
		`{"name":"named","place":"last"}`,
	} {
		m := must.Get(loader.Load(context.Background(), asm.New(manifest).On(abi.ExportSample, asm.I32(-1)).Wasm()))(t)
		defer m.Release()
		uses = append(uses, use{PluginUse: serving.PluginUse{Name: m.Name}, plugin: m})
	}
	got := arrange([]string{"top_k", "plugin:named", "temperature"}, uses)
	want := []string{"plugin:early", "plugin:blind", "top_k", "plugin:named", "temperature", "plugin:plain", "plugin:late"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
