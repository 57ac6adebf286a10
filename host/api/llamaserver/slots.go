// SPDX-License-Identifier: MIT

package llamaserver

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// slot is an entry of GET /slots. It has no text of an answer, and no name of a stream, which
// would let a stranger attach to it.
type slot struct {
	ID          int    `json:"id"`
	Context     int    `json:"n_ctx"`
	Speculative bool   `json:"speculative"`
	Processing  bool   `json:"is_processing"`
	State       string `json:"state"`
	*task
}

// task is the request that a slot has.
type task struct {
	ID        uint64      `json:"id_task"`
	Prompt    int         `json:"n_prompt_tokens"`
	Processed int         `json:"n_prompt_tokens_processed"`
	Cached    int         `json:"n_prompt_tokens_cache"`
	Computed  int         `json:"n_past"`
	AgeMS     int64       `json:"age_ms"`
	Branch    uint64      `json:"branch,omitempty"`        // of a program: which of its branches
	Has       int         `json:"branch_tokens,omitempty"` // tokens of the branch
	Next      []nextToken `json:"next_token"`
}

type nextToken struct {
	HasNext bool `json:"has_next_token"`
	Remain  int  `json:"n_remain"` // -1: any number
	Decoded int  `json:"n_decoded"`
}

// slots is GET /slots. With fail_on_no_slot in the query it is refused while no slot is free.
func (a API) slots(c echo.Context) error {
	if a.NoSlots {
		return notSupported("This server does not support slots endpoint. Start it with `--slots`")
	}
	m, release, err := a.findLoaded(c)
	if err != nil {
		return err
	}
	defer release()
	snap, err := m.Scheduler.Inspect(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	free := slices.ContainsFunc(snap.Slots, func(s scheduler.SlotInfo) bool { return s.Stream == "" })
	if !free && c.QueryParam("fail_on_no_slot") != "" {
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "no_slot", Message: "no slot available"}
	}
	list := make([]slot, len(snap.Slots))
	for i, info := range snap.Slots {
		list[i] = slot{ID: info.Slot, Context: m.Context, Speculative: snap.Speculates, Processing: info.Stream != "", State: info.State, task: taskOf(info)}
	}
	return c.JSON(http.StatusOK, list)
}

func taskOf(info scheduler.SlotInfo) *task {
	if info.Stream == "" {
		return nil
	}
	next := nextToken{HasNext: true, Remain: -1, Decoded: info.Generated}
	if info.Limit > 0 {
		next.Remain = info.Limit - info.Generated
	}
	return &task{ID: info.Request, Prompt: info.Prompt, Processed: max(0, min(info.Computed, info.Prompt)-info.Cached), Cached: info.Cached,
		Computed: info.Computed, AgeMS: info.Age.Milliseconds(), Branch: info.Branch, Has: info.Tokens, Next: []nextToken{next}}
}

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
	m, release, err := a.findModel(c, "")
	if err != nil {
		return err
	}
	defer release()
	if m.Conversations == nil {
		return notSupported("this server does not support actions on slots; start it with --slot-save-path")
	}
	slot, err := strconv.Atoi(c.Param("id"))
	if err != nil || slot < 0 || slot >= m.Compute.Slots {
		return refusal.Invalid("id_slot", "the slot is %q; it must be a number from 0 to %d", c.Param("id"), m.Compute.Slots-1)
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
