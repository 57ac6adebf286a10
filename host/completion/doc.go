// SPDX-License-Identifier: MIT

// Package completion carries out requests for text: it finds their model, makes their prompts and sampler chains, and reads their
// answers. It knows no dialect: the packages below host/api turn what clients send into a [Request], and its answer into what they expect.
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
// had. pause, resume and cancel lower what is computed, and who has used up its requests must be
// able to.
package completion
