// SPDX-License-Identifier: MIT

package llamaserver

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/media"
)

// props is GET /props.
func (a API) props(c echo.Context) error {
	m, release, err := a.loaded(c)
	if err != nil {
		return a.foretold(c, err)
	}
	defer release()
	props := map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": m.Context, "params": defaultSettings(m)},
		"total_slots":                 m.Slots,
		"model_alias":                 m.Name,
		"model_path":                  m.Path,
		"model_ftype":                 m.FileType,
		"modalities":                  map[string]bool{"vision": m.Media.Images, "video": false, "audio": m.Media.AudioRate > 0},
		"media_marker":                media.Marker,
		"endpoint_slots":              !a.NoSlots,
		"endpoint_props":              a.Props,
		"endpoint_metrics":            !a.NoMetrics,
		"ui":                          a.UI,
		"ui_settings":                 struct{}{},
		"cors_proxy_enabled":          false,
		"chat_template":               m.Template,
		"chat_template_caps":          m.TemplateCaps,
		"bos_token":                   m.BOS,
		"eos_token":                   m.EOS,
		"build_info":                  "penstock " + a.Version,
		"is_sleeping":                 false,
		"kernels":                     m.Kernels,
		"options":                     append([]string{}, m.Options...),
		"body_limit":                  a.BodyLimit, // Penstock's addition
	}
	if len(m.Workers) > 0 {
		props["workers"] = m.Workers
	}
	if m.NoTemplate {
		props["chat_template_fallback"] = "chatml" // Penstock's addition
	}
	if m.ToolTemplate != "" {
		props["chat_template_tool_use"] = m.ToolTemplate
	}
	return c.JSON(http.StatusOK, props)
}

// foretold is what the file of a model says that is not loaded; known is why it is not told of one
// that is.
func (a API) foretold(c echo.Context, known error) error {
	name := strings.TrimSuffix(c.QueryParam("model"), ":latest") // as clients of Ollama name it
	for _, m := range a.Models.List() {
		if m.Failed != nil || name == "" || m.Name != name && !slices.Contains(m.Aliases, name) {
			continue
		}
		return c.JSON(http.StatusOK, map[string]any{
			"default_generation_settings": map[string]any{"n_ctx": m.Training}, "model_alias": m.Name, "model_path": m.Path, "model_ftype": m.FileType,
			"modalities":    map[string]bool{"vision": m.Media.Images, "video": false, "audio": m.Media.AudioRate > 0},
			"chat_template": m.Template, "chat_template_caps": m.TemplateCaps, "build_info": "penstock " + a.Version, "is_sleeping": true,
		})
	}
	return known
}

// setProps is POST /props: there is nothing that could be set. As with llama-server, clients may
// be told otherwise.
func (a API) setProps(c echo.Context) error {
	if a.Props {
		return c.JSON(http.StatusOK, map[string]bool{"success": true})
	}
	return notSupported("the properties of this server cannot be changed while it runs; set them in its configuration")
}
