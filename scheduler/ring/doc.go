// SPDX-License-Identifier: MIT

// Package ring is the ring buffer between the tick, which must never wait, and the reader of an
// answer, which may.
//
// A Ring allocates nothing per item. Its write and read indices only grow; an item's place is its
// index modulo the number of places. Its capacity is how many unread items it should hold. The
// writer reserves room before a tick; if the tick produces more, the ring grows: no item is lost.
//
// # Why a ring and not a Go channel?
//
// A channel cannot tell the tick how full it is without a race. The ring has one producer and one
// consumer, and adding a token allocates nothing. Its places have room for a token and its text,
// and point to the rarer events: whole events of 88 bytes would make the rings of 256 slots
// larger than the processor's caches, and a tick writes to all of them.
//
// # Why can a ring grow?
//
// Before a tick, a slot's ring must have room for what a tick usually adds: the start, one token,
// the end. But a tick may add much more, such as a plugin's whole hold window when the answer
// ends, or a splice of a thousand tokens. Keeping that much room free for every token would make
// each ring as large as the context, and letting a finished answer wait for room would block its
// slot. So the ring grows, which the context bounds, and the slot is parked until the reader has
// caught up.
package ring
