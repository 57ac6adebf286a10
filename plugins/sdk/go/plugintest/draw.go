// SPDX-License-Identifier: MIT

package plugintest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// parameters are those of a chain that the stand-in knows. Others are read over.
type parameters struct {
	Temperature *float64 `json:"temperature"` // nil: 0.8, as the host's default
	TopK        int      `json:"top_k"`       // 0 or less: all
	TopP        *float64 `json:"top_p"`       // nil: 1
	MinP        float64  `json:"min_p"`
}

// ChainOpen implements abi.Host. Chain 0 has the parameters of Request.Sampling.
func (h host) ChainOpen(text unsafe.Pointer, size int32) int32 {
	p := h.running()
	if len(p.chains) > abi.LimitChains {
		return h.refuse(fmt.Sprintf("a program has %d chains at most", abi.LimitChains))
	}
	chain, err := h.parameters(take(text, size))
	if err != nil {
		return h.refuse(err.Error())
	}
	p.chains = append(p.chains, chain)
	return int32(len(p.chains) - 1)
}

// parameters are the request's, changed by a JSON object.
func (h host) parameters(text string) (p parameters, err error) {
	for _, from := range []string{cmp.Or(h.s.Sampling, "{}"), text} {
		if err := json.Unmarshal([]byte(from), &p); err != nil {
			return p, fmt.Errorf("the parameters of a chain: %w", err)
		}
	}
	if p.Temperature != nil && *p.Temperature < 0 {
		return p, fmt.Errorf("temperature is %v; it must be at least 0", *p.Temperature)
	}
	return p, nil
}

func (h host) chain(handle int32) parameters {
	chains := h.running().chains
	if handle < 0 || int(handle) >= len(chains) {
		h.s.t.Fatalf("no chain has the handle %d", handle)
	}
	if handle > 0 {
		return chains[handle]
	}
	p, err := h.parameters("{}")
	if err != nil {
		h.s.t.Fatalf("Request.Sampling: %v", err)
	}
	return p
}

// draw draws a token from a row as a chain says. It is not the token that the host draws, but
// draws are as likely.
func (h host) draw(b *branch, row []float32, handle int32) int32 {
	p := h.chain(handle)
	var ids []int32
	for t, l := range row {
		if l != impossible {
			ids = append(ids, int32(t))
		}
	}
	if len(ids) == 0 {
		return abi.BranchNoToken
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(row[b], row[a]) })
	temperature := 0.8
	if p.Temperature != nil {
		temperature = *p.Temperature
	}
	if temperature == 0 {
		return ids[0]
	}
	if p.TopK > 0 {
		ids = ids[:min(len(ids), p.TopK)]
	}
	weights, sum := p.weigh(row, ids, 1)
	most, n := weights[0], 0
	for kept := 0.0; n < len(ids) && weights[n] >= p.MinP*most && (p.TopP == nil || kept < *p.TopP*sum || n == 0); n++ {
		kept += weights[n]
	}
	weights, sum = p.weigh(row, ids[:n], temperature)
	at := h.uniform(b, handle) * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return ids[i]
		}
	}
	return ids[n-1]
}

func (parameters) weigh(row []float32, ids []int32, temperature float64) (weights []float64, sum float64) {
	for _, t := range ids {
		weights = append(weights, math.Exp((float64(row[t])-float64(row[ids[0]]))/temperature))
		sum += weights[len(weights)-1]
	}
	return weights, sum
}

// uniform draws from [0, 1) with the branch's generator for a chain.
func (h host) uniform(b *branch, chain int32) float64 {
	position := uint64(1<<33) + uint64(chain)<<16 + uint64(b.handle)
	seed := abi.Draw(h.s.Seed, 0, position, 0) & math.MaxUint32
	draw := abi.Draw(seed, 0, 0, b.draws[position])
	b.draws[position]++
	return float64(draw>>11) / (1 << 53)
}
