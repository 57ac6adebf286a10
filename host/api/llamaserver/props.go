// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/sampling"
)

// props is GET /props.
func (a API) props(c echo.Context) error {
	m, release, err := a.use(c)
	if err != nil {
		return err
	}
	defer release()
	snap, err := m.Scheduler.Inspect(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": m.Context, "params": settings()},
		"total_slots":                 len(snap.Slots),
		"model_alias":                 m.Name,
		"model_path":                  m.Path,
		"modalities":                  map[string]bool{"vision": false, "audio": false},
		"chat_template":               m.Template,
		"bos_token":                   m.BOS,
		"eos_token":                   m.EOS,
		"build_info":                  "penstock " + a.Version,
		"is_sleeping":                 false,
		"kernels":                     m.Kernels,
	})
}

// settings are the default sampling parameters, under llama-server's names.
func settings() sampling.Fields {
	f := sampling.FieldsOf(sampling.Default())
	f.LogitBias = json.RawMessage("[]")
	return f
}
