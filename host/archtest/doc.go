// SPDX-License-Identifier: MIT

// Package archtest compares a model of each architecture of llama.cpp with llama-server, in each situation that serving knows.
package archtest
