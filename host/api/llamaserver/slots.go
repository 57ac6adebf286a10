// SPDX-License-Identifier: MIT

package llamaserver

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/refusal"
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
	m, release, err := a.loaded(c)
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
