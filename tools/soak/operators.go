// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
)

// pluginFile puts a plugin into the folder, or something that is none, or removes it.
func pluginFile(_ context.Context, s *soak, rng *rand.Rand) error {
	path, err := s.place.dropped(), error(nil)
	end := "replaced"
	switch rng.IntN(3) {
	case 0:
		err = replaceFile(path, guest("dropped", 300+rng.IntN(8)))
	case 1:
		end, err = "broken", replaceFile(path, []byte("\x00asm\x01\x00\x00\x00no module"))
	case 2:
		if end, err = "removed", os.Remove(path); os.IsNotExist(err) {
			err = nil
		}
	}
	s.tally.add("a file in the plugin folder", end)
	return err
}

// keyFile writes the file of keys anew. Those that the clients have stay, so that all others see
// whether they hold at every moment.
func keyFile(_ context.Context, s *soak, rng *rand.Rand) error {
	s.tally.add("the file of keys", "replaced")
	return s.place.writeKeys(rng.IntN(100))
}

// adapters loads and unloads an adapter, asks for answers with it, and changes the scales for all.
func adapters(ctx context.Context, s *soak, rng *rand.Rand) error {
	switch rng.IntN(5) {
	case 0:
		_, _, err := s.expect(ctx, "POST /v1/adapters", post("/v1/adapters", adminKey, map[string]any{"name": passing}), http.StatusCreated, http.StatusConflict)
		return err
	case 1:
		_, _, err := s.expect(ctx, "DELETE /v1/adapters/NAME", call{method: http.MethodDelete, path: "/v1/adapters/" + passing, key: adminKey}, http.StatusNoContent, http.StatusNotFound)
		return err
	case 2:
		_, _, err := s.expect(ctx, "POST /lora-adapters", post("/lora-adapters", adminKey, lora(float64(rng.IntN(2)))), http.StatusOK)
		return err
	}
	b := drawnBody(rng, 30)
	b["lora"] = []map[string]any{{"name": passing, "scale": 1}}
	_, _, err := s.expect(ctx, "POST /v1/completions, with a passing adapter", post("/v1/completions", pick(rng, goodKeys), b), http.StatusOK, http.StatusBadRequest)
	return err
}

// reloadModel loads the second model, or unloads it, which is refused while it is in use.
func reloadModel(ctx context.Context, s *soak, rng *rand.Rand) error {
	path, statuses := "/models/load", []int{http.StatusOK}
	if rng.IntN(2) == 0 {
		path, statuses = "/models/unload", []int{http.StatusOK, http.StatusConflict}
	}
	_, _, err := s.expect(ctx, "POST "+path, post(path, adminKey, map[string]any{"model": small}), statuses...)
	return err
}

// slotFile saves, restores or erases the conversation of a slot. There may be none, or none of
// this client's.
func slotFile(ctx context.Context, s *soak, rng *rand.Rand) error {
	slot, action := rng.IntN(8), pick(rng, []string{"save", "restore", "erase"})
	b := map[string]any{"filename": fmt.Sprintf("%d.bin", rng.IntN(3))}
	c := post(fmt.Sprintf("/slots/%d?action=%s", slot, action), pick(rng, goodKeys), b)
	_, _, err := s.expect(ctx, "POST /slots/ID?action="+action, c, http.StatusOK, http.StatusBadRequest, http.StatusNotFound)
	return err
}
