// SPDX-License-Identifier: MIT

package load

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// largeGuest is a guest with the memory of an interpreter that has the texts of 128,256 tokens:
// 6 MiB are warmed. Its plan fills a mask of 16 KiB and changes 40 pages of 4 KiB, some of them
// neighbours. Open reads the mask and changes 30 pages.
func largeGuest() *asm.Guest {
	const warmed, heap, mask = 4 << 16, 2 << 20, 1 << 20
	g := hosttest.Plain()
	page := func(at, nth, step int) []byte {
		return bytes.Join([][]byte{asm.I32(at), asm.Local(nth), asm.I32(step), asm.Multiply, asm.Add}, nil)
	}
	g.On(abi.ExportWarm, asm.I32(96), asm.GrowMemory, asm.Drop, asm.I32(warmed), asm.I32(1), asm.I32(96<<16), asm.Fill, asm.I32(0))
	g.On(abi.ExportPlan, asm.I32(mask), asm.I32(2), asm.I32(16<<10), asm.Fill,
		asm.Each(0, asm.I32(8), asm.Each(1, asm.I32(5), page(heap, 0, 128<<10), page(0, 1, 4<<10), asm.Add, asm.I32(7), asm.Store)), asm.I32(0))
	return g.On(abi.ExportOpen, asm.Each(0, asm.I32(4), page(mask, 0, 4<<10), asm.Load, asm.Drop),
		asm.Each(0, asm.I32(8), asm.Each(1, asm.I32(3), page(heap, 0, 128<<10), page(0, 1, 4<<10), asm.Add, asm.I32(9), asm.Store)),
		asm.Each(0, asm.I32(6), page(warmed, 0, 4<<10), asm.I32(3), asm.Store), asm.I32(0))
}

// BenchmarkPlugin_With is what an instance costs that starts from the warm image, and one that
// starts from a plan, up to the end of open.
func BenchmarkPlugin_With(b *testing.B) {
	l := New(hosttest.Options())
	p, err := l.Load(b.Context(), largeGuest().Wasm())
	if err != nil {
		b.Fatal(err)
	}
	q, err := p.With(b.Context(), "me", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		q.Release()
		p.Release()
		_ = l.Close(b.Context())
	}()
	for _, of := range []struct {
		name   string
		plugin *Plugin
	}{{"warm", p}, {"plan", q}} {
		open := func() *guest.Instance {
			i, err := of.plugin.Module.NewInstance(b.Context(), of.plugin.Module.NewSession(&plugin.RequestInfo{}))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := i.Call(guest.Open, 0, 0); err != nil {
				b.Fatal(err)
			}
			return i
		}
		b.Run(of.name, func(b *testing.B) {
			for b.Loop() {
				i := open()
				b.StopTimer()
				if err := i.Close(false); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			const many = 100
			before, all := anonymous(b), []*guest.Instance{}
			for range many {
				all = append(all, open())
			}
			b.ReportMetric(float64(anonymous(b)-before)/many, "private-KiB")
			if of.plugin == q {
				b.ReportMetric(float64(q.Module.OwnMemory()>>10), "plan-KiB")
			}
			for _, i := range all {
				_ = i.Close(false)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			again, err := p.With(b.Context(), "me", nil)
			if err != nil {
				b.Fatal(err)
			}
			again.Release()
		}
	})
}

// anonymous is how many KiB of memory the process does not share with a file.
func anonymous(b *testing.B) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("RssAnon:"))
	n, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
	if err != nil {
		b.Skip(err)
	}
	return n
}
