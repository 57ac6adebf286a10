// SPDX-License-Identifier: MIT

package registry

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// Info describes a plugin, or a file that is none.
type Info struct {
	Name      string         `json:"name"` // the file's, where it could not be loaded
	SHA256    string         `json:"sha256,omitempty"`
	State     State          `json:"state"`
	Manifest  *load.Manifest `json:"manifest,omitempty"`
	Exports   []string       `json:"exports,omitempty"`
	File      string         `json:"file"`              // base name; "": it is a part of the server
	Bundled   bool           `json:"bundled,omitempty"` // the server comes with the file
	Size      int64          `json:"size"`              // of the file, in bytes
	Error     string         `json:"error,omitempty"`
	Faults    int            `json:"faults"`
	LastFault string         `json:"last_fault,omitempty"`
	FaultedAt time.Time      `json:"last_fault_at,omitzero"`
	// ModelErrors has the models in memory that the plugin cannot be used with.
	ModelErrors []ModelError `json:"model_errors,omitempty"`
}

// ModelError says why a plugin cannot be used with a model.
type ModelError struct {
	Model string `json:"model"` // its name
	Error string `json:"error"`
}

// State is whether a plugin can be used.
type State string

// The states of a plugin.
const (
	StateReady       State = "ready"
	StateQuarantined State = "quarantined"
	StateFailed      State = "failed" // the file cannot be loaded, or the plugin cannot be used with the server's only model
)

func (g *Registry) info(f *file) Info {
	i := Info{Name: strings.TrimSuffix(f.base, filepath.Ext(f.base)), State: StateFailed, File: f.base, Size: f.stamp.size}
	if f.err != nil {
		i.Error = plugin.Told(f.err) // of loading, when there is no request that could be quoted
	}
	if f.plugin == nil {
		return i
	}
	i.describe(f.plugin, g.loader.Models())
	return i
}

// describe fills in what is known of a plugin that was loaded, and of its use with models.
func (i *Info) describe(p *load.Plugin, models []*load.Model) {
	health := p.Health()
	manifest, exports := p.Described()
	i.Name, i.SHA256, i.Manifest, i.Exports = p.Name, p.SHA256, &manifest, exports
	i.State, i.Faults, i.LastFault, i.FaultedAt = StateReady, health.Faults, health.LastFault, health.FaultedAt
	if health.Quarantined {
		i.State = StateQuarantined
	}
	for _, m := range models {
		err := m.Failed(p)
		if err == nil {
			continue
		}
		why := plugin.Told(err.Err)
		i.ModelErrors = append(i.ModelErrors, ModelError{m.Name(), why})
		if m.Alone() {
			i.State, i.Error = StateFailed, cmp.Or(i.Error, why)
		}
	}
}

// StateWith is the state for use with a model.
func (i Info) StateWith(model string) State {
	for _, e := range i.ModelErrors {
		if e.Model == model {
			return StateFailed
		}
	}
	return i.State
}
