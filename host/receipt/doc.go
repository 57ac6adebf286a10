// SPDX-License-Identifier: MIT

// Package receipt states how an answer came about, and signs that: with which model and plugins it
// was computed, of which request, and what it is. It also checks such statements.
//
// A receipt is a JWS in its compact form (RFC 7515) with an Ed25519 signature (RFC 8037) of a
// [Statement] in JSON. Clients find the server's keys at [Path].
//
// # Why has a receipt digests, and no texts?
//
// Somebody who has the request and the answer can then show a receipt for them, and somebody who
// gets only the receipt learns neither. The digests are plain SHA-256, so that sha256sum can check
// them. A salt in the receipt would hide nothing: who has the receipt has the salt. So a short text
// can be guessed from its digest, and a receipt is as confidential as what it is about.
//
// # Why does the configuration of an operator's plugin have another digest?
//
// It may have secrets, such as a watermark's key, which the clients that get receipts do not know
// and could guess. Its digest is keyed with a secret that is derived from the server's signing key:
// equal configurations have equal digests, and only the operator can tell what they are of. The
// configuration that a request has brought is its client's own, and has a plain digest.
//
// # Why are model files read anew, though pulled ones have known digests?
//
// A receipt is about the bytes that are loaded. What a registry has said of a file is true of the
// file as it came, and not of what lies there today. Reading takes a second for each gigabyte or
// two, once for each start of the server and file.
package receipt
