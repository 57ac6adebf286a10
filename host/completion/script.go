// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// CheckedScript is a script that a caller wants to know of whether it can be used, and how. Fields
// of refusals are source and config.
type CheckedScript struct {
	Caller    Caller
	ModelName string // "": the default model
	Source    string
	Config    json.RawMessage // nil: none
}

// CheckScript compiles a script as a request with it would, and says what it asks for. What is
// wrong in the script is a refusal with refusal.ScriptCode.
func (s *Service) CheckScript(ctx context.Context, asked CheckedScript) (serving.Plan, error) {
	const field = "source"
	if asked.Source == "" {
		return serving.Plan{}, refusal.Invalid(field, "source is missing: the text of a script")
	}
	use := serving.PluginUse{Config: asked.Config, Source: field}
	if err := asScript(&use, asked.Source, asked.Caller); err != nil {
		return serving.Plan{}, err
	}
	m, release, err := s.Models.Use(ctx, asked.ModelName)
	if err != nil {
		return serving.Plan{}, err
	}
	defer release()
	if m.Plugins == nil {
		return serving.Plan{}, refusal.Unsupported(field, "scripts are not supported by this server")
	}
	return m.Plugins.Plan(ctx, asked.Caller.ID, use)
}
