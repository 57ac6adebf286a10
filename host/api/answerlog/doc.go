// SPDX-License-Identifier: MIT

// Package answerlog keeps the frames of each answer of the WebSocket in a log on the server, which
// a connection reads from a place.
//
// An answer is computed and written down whether or not somebody reads it (source), up to a bound
// (Log). So a lost connection is a reader that has left, attach is a new reader with a place, and
// what is kept of an answer that has ended is what its log has anyway (Shelf).
//
// # Why frames, and not events?
//
// Frames of log-probabilities, traces and parts are made with the model's words and template. A
// client may come back for ten minutes; with room for one model, the next would have to wait as
// long. A log of frames needs neither the model nor the stream, and its bytes are known exactly.
//
// # Why is a log that its client may come back for kept as a whole?
//
// When a connection turns out to be dead, thousands of frames may have been written to it, and
// only the client knows which of them arrived. A frame takes about 100 bytes. With a trace it takes
// kilobytes, so what is kept is bounded in bytes, for each client.
//
// # Why does a log of any other answer hold a single frame?
//
// The scheduler's ring holds what its reader has not taken, and parks the slot when it is full. A
// second buffer behind it would only delay that.
//
// # Why does a reader that is behind get several parts in one frame?
//
// A parts frame may say as little as one token, and is of use only for what follows the tokens that
// the client has. A client that comes back first gets all that it had, and its text never becomes
// shorter.
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
// Frames are kept for attach, and a client that pauses and resumes forever would make them grow. A
// client that attaches to a paused answer is told first that it is paused.
//
// # Why does a proxy get the server's name and not the stream's?
//
// The rest of the name is what keeps others from reading the stream, and proxies log URLs. A hash
// of the name would lead nowhere once a replica is down; a name leads to a replica that drains,
// and nowhere else.
package answerlog
