// SPDX-License-Identifier: MIT

package guest

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
)

// requestFunctions are the imports about the request.
var requestFunctions = map[string]hostFunction{
	abi.ImportConfig:   func(i *Instance, c *call) uint64 { return c.write(i, 1, i.session.config) },
	abi.ImportMessages: func(i *Instance, c *call) uint64 { return c.write(i, 1, i.session.Messages) },
	abi.ImportPrompt:   hostPrompt,
	abi.ImportHistory:  hostHistory,
	abi.ImportMedia:    hostMedia,
	abi.ImportText:     hostText,
	abi.ImportFeature:  hostFeature,
	abi.ImportParam:    hostParam,
	abi.ImportLogprob:  hostLogprob,
	abi.ImportState:    hostState,
	abi.ImportPart:     hostPart,
	abi.ImportRequest:  hostRequest,
	abi.ImportElapsed:  hostElapsed,
	abi.ImportFuel:     func(i *Instance, _ *call) uint64 { return uint64(i.meter.Left()) },
	abi.ImportRandom:   func(i *Instance, _ *call) uint64 { return i.session.random.next() },
}

func hostHistory(i *Instance, c *call) uint64 {
	all := i.session.History
	return c.write(i, 4, bytesOf(all[beginning(c.i32(0), len(all)):]))
}

func hostMedia(i *Instance, c *call) uint64 {
	told := []byte("[]")
	if r := i.session.request; r != nil && len(r.Media) > 0 {
		told = r.Media
	}
	return c.write(i, 1, told)
}

func hostFeature(_ *Instance, c *call) uint64 {
	if name := c.in[0]; len(name) <= abi.LimitFeatureBytes && slices.Contains(abi.Features, string(name)) {
		return 1
	}
	return 0
}

func hostParam(i *Instance, c *call) uint64 {
	kind := c.u32(0)
	if int(kind) >= len(i.session.Params) {
		return ^uint64(0)
	}
	return uint64(i.session.Params[kind])
}

func hostElapsed(i *Instance, _ *call) uint64 {
	r := i.session.request
	if r == nil || r.Time.IsZero() || i.running == Plan {
		return i32(-1)
	}
	return i32(int32(min(max(i.started.Sub(r.Time).Milliseconds(), 0), math.MaxInt32)))
}

func hostRequest(i *Instance, c *call) uint64 {
	return c.write(i, 1, describe(i.module.Env.model, i.session.sampling()))
}
