// SPDX-License-Identifier: MIT

// Package completion carries out requests for text: it finds their model, makes their prompts and
// sampler chains, and reads their answers. It knows no dialect: the packages below host/api turn
// what clients send into a [Request], and its answer into what they expect.
//
// # Why does host/completion declare the interface of the engine that it uses?
//
// Its tests can then script an engine, and no test of HTTP needs a model or a C compiler.
//
// # Why does steering count a sixteenth of a request?
//
// set builds a sampler chain, inject and rewind have some tokens computed, attach sends an answer
// again. Each is far less than an answer and far more than nothing. A client that limits its own
// pace never notices; one that sends them without end gets 16 for each request that it could have
// had. pause, resume and cancel reduce the load, and a client that has used up its requests must be
// able to send them.
//
// # Why is a picture encoded once there is room in the queue, and not before?
//
// Encoding is what a picture costs most. A request that the queue has no room for, or whose prompt
// is too long, should cost nothing, and the queue's bound is then that of encoding too. Both are
// known before: a projector tells by the sides of a picture how many tokens it takes, so the prompt
// has as many places for it, and all that counts tokens counts these. A request that only counts
// never comes to the encoder.
//
// # Why is a prompt that ends on a picture refused?
//
// The model says what comes next after a row of logits, and the passes over embeddings have none.
// A token put behind the picture would be a text that the client has not written, and nobody can
// tell which. llama-server ends there.
package completion
