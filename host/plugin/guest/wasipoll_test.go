// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
)

// subscription is one of poll_oneoff, as a guest lays it into memory.
func subscription(user uint64, tag byte, time uint64, absolute bool) string {
	b := make([]byte, subscriptionBytes)
	binary.LittleEndian.PutUint64(b, user)
	b[subscriptionTag] = tag
	binary.LittleEndian.PutUint64(b[subscriptionTime:], time)
	if absolute {
		b[subscriptionFlags] = absoluteTime
	}
	return string(b)
}

func TestWASI_Poll_PassesTheTimeAtOnce(t *testing.T) {
	const second = 1_000_000_000
	for name, c := range map[string]struct {
		list   []string
		clock  uint64
		events []uint64 // by userdata
	}{
		"asleep":            {[]string{subscription(7, tagClock, 3600*second, false)}, 3600*second + clockTick, []uint64{7}},
		"until":             {[]string{subscription(7, tagClock, second, true)}, second, []uint64{7}},
		"until long ago":    {[]string{subscription(7, tagClock, 0, true)}, clockTick, []uint64{7}},
		"the earlier":       {[]string{subscription(1, tagClock, 2*second, false), subscription(2, tagClock, second, false)}, second + clockTick, []uint64{2}},
		"both":              {[]string{subscription(1, tagClock, second, false), subscription(2, tagClock, second, false)}, second + clockTick, []uint64{1, 2}},
		"a descriptor":      {[]string{subscription(1, tagClock, second, false), subscription(2, 1, 0, false)}, clockTick, []uint64{2}},
		"to the end of all": {[]string{subscription(1, tagClock, 1<<64-1, false)}, endOfTime, []uint64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := hosttest.Plain()
			read, poll := wasiCall(g, "clock_time_get"), wasiCall(g, "poll_oneoff")
			for i, s := range c.list {
				g.Put(hosttest.AtBuffer+i*subscriptionBytes, s)
			}
			clock := [][]byte{i32c(0), i64c(0), i32c(hosttest.AtScratch), read, drop}
			g.On(abi.ExportPrepare, append(append(clock, i32c(hosttest.AtScratch+8), i32c(hosttest.AtBuffer), i32c(hosttest.AtBuffer+512), i32c(len(c.list)), i32c(hosttest.AtScratch+12), poll, store),
				append(clock, i32c(0))...)...)
			s := use(t, g, 1)
			if _, err := s.prepare(); err != nil {
				t.Fatal(err)
			}
			bytes := s.Memory()
			if got := binary.LittleEndian.Uint64(bytes[hosttest.AtScratch:]); got != c.clock {
				t.Errorf("the clock shows %d, want %d", got, c.clock)
			}
			if errno, n := peek(s, hosttest.AtScratch+8), peek(s, hosttest.AtScratch+12); errno != wasiOK || int(n) != len(c.events) {
				t.Fatalf("errno %d, %d events, want %v", errno, n, c.events)
			}
			for i, user := range c.events {
				event := bytes[hosttest.AtBuffer+512+i*eventBytes:]
				wantErr := uint16(0)
				if event[eventTag] != tagClock {
					wantErr = wasiBadF
				}
				if got := binary.LittleEndian.Uint64(event); got != user || binary.LittleEndian.Uint16(event[eventError:]) != wantErr {
					t.Errorf("event %d is of %d with error %d", i, got, binary.LittleEndian.Uint16(event[eventError:]))
				}
			}
		})
	}
}

func TestWASI_Poll_OutOfBoundsIsAFault(t *testing.T) {
	for name, args := range map[string][3]int{"list": {1 << 20, hosttest.AtBuffer, 1}, "events": {hosttest.AtBuffer, -32, 1}, "number": {0, 0, -1},
		"wrapping": {0, 0, 0x10000000}} { // 48 bytes each are 3·2^32
		g := hosttest.Plain()
		poll := wasiCall(g, "poll_oneoff")
		_, err := use(t, g.On(abi.ExportPrepare, i32c(args[0]), i32c(args[1]), i32c(args[2]), i32c(hosttest.AtScratch), poll, drop, i32c(0)), 1).prepare()
		hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseMemory, name[:0])
	}
}
