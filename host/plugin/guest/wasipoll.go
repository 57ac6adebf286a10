// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
)

// Sizes and offsets of WASI's poll_oneoff: a subscription is userdata, a tag, and for a clock its
// id, a time in ns, a precision and flags; an event is userdata, an error number and the tag.
const (
	subscriptionBytes = 48
	subscriptionTag   = 8
	subscriptionTime  = 24
	subscriptionFlags = 40
	eventBytes        = 32
	eventError        = 8
	eventTag          = 10

	tagClock     = 0
	absoluteTime = 1
	wasiInvalid  = 28

	subscriptionFuel = 64

	endOfTime = 1 << 62 // ns, in the reach of every toolchain's clock
)

// wasiPoll passes the time that is waited for at once: the clock is then where it would be.
// Waiting for a descriptor is answered with "bad descriptor". list, events, number of the list,
// ptr of the number of events.
func wasiPoll(i *Instance, s []uint64) {
	if uint32(s[2]) == 0 {
		s[0] = wasiInvalid
		return
	}
	list, events := i.readUnits(s[0], s[2], subscriptionBytes), i.readUnits(s[1], s[2], eventBytes)
	now, until := i.clock, uint64(endOfTime)
	for rest := list; len(rest) > 0; rest = rest[subscriptionBytes:] {
		i.charge(subscriptionFuel)
		until = min(until, due(rest, now))
	}
	i.clock = max(now, until)
	count := uint32(0)
	for ; len(list) > 0; list = list[subscriptionBytes:] {
		if due(list, now) > i.clock {
			continue
		}
		event := events[:eventBytes]
		clear(event)
		copy(event, list[:8])
		event[eventTag] = list[subscriptionTag]
		if list[subscriptionTag] != tagClock {
			binary.LittleEndian.PutUint16(event[eventError:], wasiBadF)
		}
		events = events[eventBytes:]
		count++
	}
	binary.LittleEndian.PutUint32(i.bytesAt(uint64(uint32(s[3])), 4), count)
	s[0] = wasiOK
}

// due is when a subscription is over: a descriptor's at once.
func due(subscription []byte, now uint64) uint64 {
	if subscription[subscriptionTag] != tagClock {
		return 0
	}
	t := min(binary.LittleEndian.Uint64(subscription[subscriptionTime:]), endOfTime)
	if subscription[subscriptionFlags]&absoluteTime == 0 {
		t = min(t+now, endOfTime)
	}
	return t
}
