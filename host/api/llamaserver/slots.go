// SPDX-License-Identifier: MIT

package llamaserver

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// slots is llama-server's GET /slots. It shows no text of an answer, and no name of a stream, which would let a stranger attach to it.
func (a API) slots(c echo.Context) error {
	m, release, err := a.use(c)
	if err != nil {
		return err
	}
	defer release()
	snap, err := m.Scheduler.Inspect(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	type next struct {
		HasNext bool `json:"has_next_token"`
		Decoded int  `json:"n_decoded"`
	}
	type slot struct {
		ID         int    `json:"id"`
		Context    int    `json:"n_ctx"`
		Processing bool   `json:"is_processing"`
		State      string `json:"state"`
		Prompt     int    `json:"n_prompt_tokens"`
		Cached     int    `json:"n_prompt_tokens_cache"`
		Computed   int    `json:"n_past"`
		AgeMS      int64  `json:"age_ms"`
		Next       []next `json:"next_token"`
	}
	slots := make([]slot, len(snap.Slots))
	for i, info := range snap.Slots {
		busy := info.Stream != ""
		slots[i] = slot{ID: info.Slot, Context: m.Context, Processing: busy, State: info.State, Prompt: info.Prompt,
			Cached: info.Cached, Computed: info.Computed, AgeMS: info.Age.Milliseconds(),
			Next: []next{{HasNext: busy, Decoded: info.Generated}}}
	}
	return c.JSON(http.StatusOK, slots)
}
