// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// Servers that keep no conversations beside their slots: how many they keep is a setting, and no
// matter of how they serve.
const (
	penstockUncached = "penstock --cache-ram 0"
	llamaUncached    = "llama-server --cache-ram 0"
)

// memorySlots are the sizes of servers whose memory is compared.
var memorySlots = []int{1, 8, 64}

// memoryRest is how long a server has nothing to do before its memory is read: Penstock gives back
// after a second what is free.
const memoryRest = 3 * time.Second

// memory measures how much memory the servers take: just loaded, and after some hundred requests.
func (l *lab) memory() error {
	for _, slots := range memorySlots {
		size := bench.Size{Slots: slots, Context: max(2048, slots<<10), Threads: l.threads}
		var loaded, used [2]float64
		for i, name := range []string{penstockUncached, llamaUncached} {
			targets, err := l.targets(size, name) // the other one has ended
			if err != nil {
				return err
			}
			if loaded[i], err = l.resident(); err != nil {
				return err
			}
			if err := l.round(targets, memoryLoad(slots), 0); err != nil {
				return err
			}
			if used[i], err = l.resident(); err != nil {
				return err
			}
		}
		l.noMoreMemory(fmt.Sprintf("memory with %s, loaded", plural(slots, "slot")), loaded)
		l.noMoreMemory(fmt.Sprintf("memory with %s, after %d requests", plural(slots, "slot"), memoryLoad(slots).Load.Classes[0].Requests), used)
	}
	return nil
}

func memoryLoad(slots int) bench.Scenario {
	return bench.Scenario{Name: fmt.Sprintf("memory, %d slots", slots), Load: bench.Load{Seed: seedMemory, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: min(slots, 16), Requests: 200, PromptWords: bench.ShortWords, MaxTokens: 8}}}}
}

// resident is how much memory the server has, in MiB, once it has rested.
func (l *lab) resident() (float64, error) {
	select {
	case <-time.After(memoryRest):
	case <-l.ctx.Done():
		return 0, l.ctx.Err()
	}
	bytes, err := residentOf(l.servers[0].process.PID())
	return float64(bytes) / (1 << 20), err
}

// noMoreMemory adds a row for memory of Penstock and of llama-server.
func (l *lab) noMoreMemory(work string, mebibytes [2]float64) {
	const most = 1.02
	times := ratio(mebibytes[0], mebibytes[1])
	l.report.Rows = append(l.report.Rows, row{Work: work, Measured: fmt.Sprintf("%.0f MiB", mebibytes[0]), Against: fmt.Sprintf("%s: %.0f MiB", llama, mebibytes[1]),
		Ratio: fmt.Sprintf("%.2f ×", times), Required: fmt.Sprintf("at most %.2f ×", most), Reached: yesNo(times > 0 && times <= most)})
}
