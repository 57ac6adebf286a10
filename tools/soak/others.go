// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"math/rand/v2"
	"net/http"
)

// forOthers tries what would change answers or models for others, or have a model loaded by
// looking at it.
func forOthers(ctx context.Context, s *soak, rng *rand.Rand) error {
	key := pick(rng, goodKeys)
	switch rng.IntN(3) {
	case 0:
		_, _, err := s.expect(ctx, "POST /lora-adapters with a client's key", post("/lora-adapters", key, lora(1)), http.StatusUnauthorized)
		return err
	case 1:
		_, _, err := s.expect(ctx, "POST /api/generate, unloading", post("/api/generate", key, map[string]any{"model": small, "keep_alive": 0}), http.StatusForbidden)
		return err
	}
	path := pick(rng, []string{"/props", "/slots", "/lora-adapters", "/v1/adapters"})
	_, _, err := s.expect(ctx, "GET "+path+" of a model that may be loaded", get(path+"?model="+small, key), http.StatusOK, http.StatusBadRequest)
	return err
}
