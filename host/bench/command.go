// SPDX-License-Identifier: MIT

package bench

import (
	"io"
	"slices"
	"strconv"
)

// Command is how a server is run.
type Command struct {
	Program string
	Args    []string
	Env     []string  // nil: that of this process
	Output  io.Writer // gets all that it prints; nil: only the end is kept

	listen func(port string) []string // what makes it listen on that port of 127.0.0.1
}

// Size is what servers that are compared must have in common. 0: the server's own default.
type Size struct {
	Slots   int
	Context int // tokens for all slots together
	Threads int
}

// Penstock serves a model with `penstock serve`; more are flags of it.
func Penstock(program, model string, size Size, more ...string) Command {
	args := []string{"serve", "--log-level", "warn"}
	args = append(args, size.flags()...)
	args = append(args, more...)
	if model != "" {
		args = append(args, "--model", model)
	}
	return Command{Program: program, Args: args, listen: func(port string) []string { return []string{"--listen", "127.0.0.1:" + port} }}
}

// LlamaServer serves a model with llama-server, all else as it does by default; it may not fetch
// anything.
func LlamaServer(program, model string, size Size, more ...string) Command {
	// The stored answers of tests are found by the command line, so the order stays.
	return llama(program, model, []string{"--offline", "--no-ui", "--log-verbosity", "1"}, size, more)
}

// LlamaFork serves a model with a server that has at least llama-server's oldest flags.
func LlamaFork(program, model string, size Size, more ...string) Command {
	return llama(program, model, nil, size, more)
}

func llama(program, model string, first []string, size Size, more []string) Command {
	args := slices.Concat([]string{"--model", model}, first, size.flags(), more)
	return Command{Program: program, Args: args, listen: func(port string) []string { return []string{"--host", "127.0.0.1", "--port", port} }}
}

// flags have the same names for both servers.
func (s Size) flags() []string {
	var args []string
	for _, f := range []struct {
		name  string
		value int
	}{{"--parallel", s.Slots}, {"--ctx-size", s.Context}, {"--threads", s.Threads}} {
		if f.value != 0 {
			args = append(args, f.name, strconv.Itoa(f.value))
		}
	}
	return args
}
