// SPDX-License-Identifier: MIT

// Package host assembles a server: configuration, model, scheduler, API. It starts and stops them.
//
// # Why a delay before new requests are refused?
//
// A proxy can send a refused request again only if it still has all of it, which HAProxy has of
// those that fit into a buffer. So none is refused before the proxy has noticed, and sending
// again is for what comes late.
//
// # Why is a conversation's replica remembered, and not found by a hash?
//
// Both survive a replica that leaves. With a consistent hash a conversation moves when its
// replica leaves and once more when that comes back, with a cold cache both times; remembered, it
// moves once. New conversations go to the least loaded replica, which a hash does not know.
//
// # Why does Go run three goroutines at once on two processors?
//
// Go checks the network when it has no goroutine to run, and otherwise only every 10 ms. A guest
// can always run, so with a guest and a forward pass on two processors, finished tokens lay
// waiting for 10 or 20 ms. With a third goroutine, one is free to wait for the network, and the
// operating system divides the processors by microseconds. The longest gaps beside hostile guests
// (TestHost_HostileGuests_HoldUpNobody) went from 10 to 34 ms down to 8 to 18 ms.
package host
