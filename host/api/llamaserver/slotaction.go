// SPDX-License-Identifier: MIT

package llamaserver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// slotBody is the body of POST /slots/ID?action=save and restore; erase has none.
type slotBody struct {
	Filename *string `json:"filename"`
}

// savedSlot, restoredSlot and erasedSlot are the answers.
type savedSlot struct {
	ID       int            `json:"id_slot"`
	Filename string         `json:"filename"`
	Saved    int            `json:"n_saved"`
	Written  int64          `json:"n_written"`
	Timings  map[string]any `json:"timings"`
}

type restoredSlot struct {
	ID       int            `json:"id_slot"`
	Filename string         `json:"filename"`
	Restored int            `json:"n_restored"`
	Read     int64          `json:"n_read"`
	Timings  map[string]any `json:"timings"`
}

type erasedSlot struct {
	ID     int `json:"id_slot"`
	Erased int `json:"n_erased"`
}

// actOnSlot is POST /slots/ID, which saves, restores or erases the conversation that a slot's last
// answer has left in the KV cache.
func (a API) actOnSlot(c echo.Context) error {
	m, release, err := a.use(c, "")
	if err != nil {
		return err
	}
	defer release()
	if m.Conversations == nil {
		return notSupported("this server does not support actions on slots; start it with --slot-save-path")
	}
	slot, err := strconv.Atoi(c.Param("id"))
	if err != nil || slot < 0 || slot >= m.Slots {
		return refusal.Invalid("id_slot", "the slot is %q; it must be a number from 0 to %d", c.Param("id"), m.Slots-1)
	}
	switch action := c.QueryParam("action"); action {
	case "save":
		err = saveSlot(c, m, slot)
	case "restore":
		err = restoreSlot(c, m, slot)
	case "erase":
		err = eraseSlot(c, m, slot)
	default:
		err = refusal.Invalid("action", "action is %q; it must be save, restore or erase", action)
	}
	if err != nil && c.Request().Context().Err() != nil {
		return refusal.ErrGone
	}
	return err
}

func eraseSlot(c echo.Context, m *serving.Model, slot int) error {
	n, err := m.Conversations.Erase(c.Request().Context(), slot, wire.CallerOf(c).CacheSalt)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, erasedSlot{ID: slot, Erased: n})
}

func saveSlot(c echo.Context, m *serving.Model, slot int) error {
	name, err := filename(c)
	if err != nil {
		return err
	}
	began := time.Now()
	tokens, bytes, err := m.Conversations.Save(c.Request().Context(), slot, wire.CallerOf(c).CacheSalt, name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, savedSlot{ID: slot, Filename: name, Saved: tokens, Written: bytes, Timings: map[string]any{"save_ms": sinceMS(began)}})
}

func restoreSlot(c echo.Context, m *serving.Model, slot int) error {
	name, err := filename(c)
	if err != nil {
		return err
	}
	began := time.Now()
	tokens, bytes, err := m.Conversations.Restore(c.Request().Context(), slot, wire.CallerOf(c).CacheSalt, name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, restoredSlot{ID: slot, Filename: name, Restored: tokens, Read: bytes, Timings: map[string]any{"restore_ms": sinceMS(began)}})
}

func filename(c echo.Context) (string, error) {
	var body slotBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return "", err
	}
	if body.Filename == nil {
		return "", refusal.Invalid("filename", "filename is missing; it must be the name of a file")
	}
	return *body.Filename, nil
}

func sinceMS(began time.Time) float64 { return float64(time.Since(began).Microseconds()) / 1000 }
