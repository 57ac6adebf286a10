// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// loraAdapter is an entry of GET /lora-adapters.
type loraAdapter struct {
	ID               int     `json:"id"`
	Path             string  `json:"path"`
	Scale            float32 `json:"scale"`
	TaskName         string  `json:"task_name"`
	PromptPrefix     string  `json:"prompt_prefix"`
	InvocationText   *string `json:"alora_invocation_string,omitempty"`
	InvocationTokens []int32 `json:"alora_invocation_tokens,omitempty"`
}

// loraAdapters is GET /lora-adapters.
func (a API) loraAdapters(c echo.Context) error {
	m, release, err := a.loaded(c)
	if err != nil {
		return err
	}
	defer release()
	list := []loraAdapter{}
	if m.Adapters == nil {
		return c.JSON(http.StatusOK, list)
	}
	for _, info := range m.Adapters.List() {
		entry := loraAdapter{ID: info.ID, Path: info.Path, Scale: info.Scale, TaskName: info.TaskName, PromptPrefix: info.PromptPrefix}
		if len(info.InvocationTokens) > 0 {
			entry.InvocationText, entry.InvocationTokens = &info.InvocationText, info.InvocationTokens
		}
		list = append(list, entry)
	}
	return c.JSON(http.StatusOK, list)
}

// setLoraAdapters is POST /lora-adapters: how strongly each adapter counts for requests that name
// none.
func (a API) setLoraAdapters(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return wire.Malformed("the request body must be a list of objects with id and scale")
	}
	scales, err := completion.ReadAdapterScales(body, "body")
	if err != nil {
		return err
	}
	m, release, err := a.use(c, "")
	if err != nil {
		return err
	}
	defer release()
	switch {
	case m.Adapters != nil:
		err = m.Adapters.SetScales(scales)
	case len(scales) > 0:
		err = scales[0].UnknownAdapter(nil)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"success": true})
}
