// SPDX-License-Identifier: MIT
// Included before llama-context.cpp. Where all sequences share one cache, llama.cpp lets a batch
// name any of LLAMA_MAX_SEQ, and before each pass looks whether any two of those 256 are coupled.
// That is 65,536 pairs, a tenth of the time of a small model's pass. A context has as many
// sequences as it was opened for, so these are asked about.
#include "llama-context.h"

#include "llama-batch.h"
#include "llama-graph.h"
#include "llama-memory.h"
#include "llama-model.h"

#undef LLAMA_MAX_SEQ
#define LLAMA_MAX_SEQ (cparams.n_seq_max) // each function that asks is a context's; the shim bounds it
