// SPDX-License-Identifier: MIT

// Package socket serves the WebSocket: many answers over one connection, which their client can
// steer.
//
// # Why is a detachable answer kept as a whole?
//
// When a connection turns out to be dead, thousands of events may have been written to it, and
// only the client knows which of them arrived. An event takes 64 bytes plus its text. With a
// trace it takes kilobytes, so what is kept is bounded in bytes, for each client.
//
// # Why are its frames kept once it has ended, and not its events?
//
// Frames of log-probabilities, traces and parts are made with the model's words and template. An
// answer may be come back to for ten minutes; with room for one model, the next would wait as
// long. So all frames are made when the answer has ended and nobody reads it, and the model and
// the stream go.
//
// # Why does a server that ends wait for clients who are not there?
//
// An answer with detach_ms may be complete while its client, whose connection broke, has half of
// it. Streams live in memory, so the server has to stay until the client has come back. Whether
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
// # Why does a proxy get the server's name and not the stream's?
//
// The rest of the name is what keeps others from reading the stream, and proxies log URLs. A hash
// of the name would lead nowhere once a replica is down; a name leads to a replica that drains,
// and nowhere else.
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
//
// # Why does started tell the seed?
//
// A request without a seed gets a random one that nobody knows, so its answer cannot be repeated.
// With the seed the page can have the same answer again, traced or with another chain.
//
// # Why does a rewound frame carry the text that goes?
//
// Text may be held back and sent with a later token, so a client cannot tell from its token
// frames which text belongs to the tokens that are taken back. It cuts removed from the end
// instead. The field is not called text, because simple clients append each text that they get.
//
// # Why is paused no event of the answer?
//
// Events are kept for attach, and a client that pauses and resumes forever would make them grow. A
// client that attaches to a paused answer is told first that it is paused.
package socket
