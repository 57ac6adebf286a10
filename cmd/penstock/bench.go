// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/penstock/penstock/host/bench"
	"github.com/spf13/cobra"
)

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [MODEL]",
		Short: "Measure throughput and latency of this machine, or of a running server",
		Long: `Measure throughput and latency: of this machine with MODEL (or the built-in model), or of any
server that speaks OpenAI's API. A second server, or the same with plugins, takes turns with it.

Scenarios: single (one stream alone), batch (8 streams at once), mixed (4 streams while 2 clients
send long prompts), pictures (4 streams while 2 clients send new pictures; MODEL sees). A flag of the load, such as --clients or --rate, replaces them by one of your own.

  penstock bench model.gguf
  penstock bench --url http://127.0.0.1:8080 --clients 16 --prompt-words 200 --duration 30s
  penstock bench model.gguf --peer llama-server --scenario mixed
  penstock bench model.gguf --scenario batch --rounds 5 --plugins '[{"name": "min-p"}]'`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return measure(cmd, args, f) },
	}
	addConfigFlags(cmd, "model", "scheduler", "plugins")
	f.define(cmd.Flags())
	return cmd
}

// measure runs all scenarios on all servers and prints the results.
func measure(cmd *cobra.Command, args []string, f benchFlags) error {
	scenarios, err := f.chosen(cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	ctx, release := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("not done within --limit %v", f.limit))
	defer release()
	servers, err := openServers(ctx, cmd, args, f)
	if err != nil {
		return err
	}
	defer servers.close()
	var runs []bench.Measured
	for _, s := range scenarios {
		measured, err := bench.Alternate(ctx, servers.targets, s, f.rounds, func(m bench.Measured) { tell(cmd.ErrOrStderr(), m) })
		if err != nil {
			return err
		}
		runs = append(runs, measured...)
	}
	return f.print(cmd, bench.NewReport(bench.ThisMachine(), scenarios, runs))
}

// tell shows progress.
func tell(out io.Writer, m bench.Measured) {
	fmt.Fprintf(out, "%s on %s, round %d: %.1f s, %.1f tokens/s\n", m.Scenario, m.Target, m.Round, m.Seconds, m.Total.TokensPerSecond)
}

// print writes the report in the requested form. The command fails if requests failed.
func (f benchFlags) print(cmd *cobra.Command, r bench.Report) error {
	if f.out != "" {
		file, err := os.Create(f.out)
		if err != nil {
			return err
		}
		err = r.WriteJSON(file)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.out, err)
		}
	}
	write := r.WriteTable
	if f.json {
		write = r.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	for _, m := range r.Runs {
		if m.Total.Failed > 0 {
			return fmt.Errorf("%d of %d requests of %s failed on %s, such as: %s", m.Total.Failed, m.Total.Requests, m.Scenario, m.Target, m.Total.Error)
		}
	}
	return nil
}

// mixedFor is how long the mixed scenario is measured.
const mixedFor = 20 * time.Second
