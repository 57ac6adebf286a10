// SPDX-License-Identifier: MIT

// Package wire reads what clients send over HTTP and writes what they are answered, for all
// dialects.
//
// # Why does a JSON value count 128 bytes?
//
// Sixteen MB of `[0,0,…]` are eight million values, and took 700 MB. A value becomes a
// json.RawMessage, a copy of its text, and a place in a list that grows; over all routes decoding
// allocates at most 400 bytes for one, garbage included. They are counted before anything is
// decoded, and no longer than until a request is made of them: an answer may take its time.
//
// # Why has each write a deadline, and not each answer?
//
// An answer takes as long as the model needs and as its reader is slow, so no time fits all. A
// client that reads nothing of 16 KB for server.write_timeout counts as not reading. Between two
// writes there is no deadline: HTTP/2 would end a stream at it.
//
// # When are the headers of a stream sent?
//
// With the first event, or after a second without one. Most refusals, a plugin's among them, come
// within that second and keep their HTTP status; later ones are an error event. From then on the
// server sends a comment whenever it has sent nothing for 10 s, because proxies and clients give
// up on a silent connection.
//
// # Why is a key that stands twice in an object refused?
//
// RFC 8259 leaves open what it means: some programs take the first value, Go the last. A gateway
// in front of the server that checks max_tokens or model could then check another value than the
// one that counts. No client's library writes such JSON. The same holds for text that is not
// UTF-8, which Go would replace silently: the model would read something else than was sent.
// host/api/wire/checktext.go has the rule for all routes.
package wire
