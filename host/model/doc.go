// SPDX-License-Identifier: MIT

// Package model finds model files, holds the built-in model and makes sure that loading a file
// cannot end the process.
//
// # Why do the trials have the options of serving?
//
// Some of them reach assertions of llama.cpp with some models only: a type of the KV cache, a
// split over devices, an override of metadata. The trial on the CPU has those that change what is
// computed; the one with the GPU has all. Weights that main memory cannot hold are tried with the
// GPU from the start, as they will be served: the CPU alone could not. A pattern of
// `--override-tensor` is a `std::regex`, which takes a time that grows fast with the pattern; so
// patterns are bounded, and compiled before a file is opened.
//
// # Why does a child process try the GPU too?
//
// A driver may crash when it lists its devices or compiles a kernel, which ends the process,
// often without a message. So one child lists the devices before this process meets the driver,
// and another computes passes of one, few and many tokens with the model's layers on the GPU. If
// either crashes, refuses or computes no numbers, the GPU is not used: the CPU serves, and the
// log, `penstock doctor` and `/props` say why. A success is remembered for the file, the program,
// the GPUs and the environment variables of their backends, once the GPU has computed in serve
// itself too: a driver that crashes only now and then, and ends serve, is tried by a child again
// at the next start. With `--gpu-layers 0` llama.cpp gets no device at all, since it would
// otherwise compute large passes there.
//
// # What does the trial of a model do, and what does it find?
//
// It computes two short texts token by token, and then again as serving would: a prompt in one
// pass, a text that decodes beside the other's prompt, a truncation, a shared prefix, and a state
// saved and restored, in each layout of cells. The logits must be the same each time. Most of
// llama.cpp's architectures pass all of it. Recurrent and hybrid models cannot truncate, for
// which there are checkpoints. PLaMo 2 aborts when two sequences are in one pass. CogVLM returns
// the logits of a pass's first tokens, whichever were asked for. If the plain computation fails,
// the model is refused. If an exercise crashes or differs, the model is served without that
// ability (host/engine then cuts passes into pieces that the model can take), and the log says
// so. `make archs` compares random models of all architectures with llama-server and writes the
// table in docs/architectures.md.
//
// # What does the trial of a projector do?
//
// It encodes the smallest picture, those of the longest shapes and one of 800 x 600 pixels, and
// sounds of a moment, of a second and of more than the 30 s that most encoders take at once. The
// model computes the embeddings and a token after them, and the logits must be numbers. Pieces of
// one shape are encoded once, so that an encoder of one size takes as long as one picture.
package model
