// SPDX-License-Identifier: MIT

// Package socket serves the WebSocket: many answers over one connection, which their client can
// steer.
//
// # Why does a server that ends wait for clients who are not there?
//
// An answer with detach_ms may be complete while its client, whose connection broke, has half of
// it. Logs live in memory, so the server has to stay until the client has come back. Whether
// it has all of the answer only the client knows: bytes that were written may lie in a proxy. A
// ping that follows the end is answered by the client itself, so its pong shows it. A client that
// closes with status 1000 after the end does not need more either; 1001 is what a browser sends
// for a page that is reloaded, which may come back.
//
// # Why are WebSockets closed while the server drains, and not at its end?
//
// Their clients would stay with a server that refuses them. Each is closed when it has no answer,
// so it moves at once, and the last answers end the server.
//
// # Why do live frames carry so little of other clients?
//
// Every client may see how busy the server is, as with `/slots`. A text, or the name of a stream,
// would let one client read another's answer. So a connection is told the names of its own answers
// only.
//
// # Why may live frames be lost?
//
// They share a connection with tokens. A live frame that waited in front of a token would make a
// slow client slower, and one that was queued would be old when it arrives. So the writer takes
// one only if it has nothing else to send, and the watcher throws away what was not taken in
// time. The ticks in between are in the next frame, up to 500. All watchers share one look at the
// scheduler: it runs between two ticks and takes 0.09 ms with 16 slots, 131,072 cells and 500
// ticks (BenchmarkScheduler_Inspect), so the longest time between two tokens grows by no more,
// however many pages are open.
package socket
