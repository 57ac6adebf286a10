// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/config"
	"github.com/spf13/cobra"
)

// The states of a finding.
const (
	stateOK   = "ok"
	stateWarn = "warn" // it works, though not as well as it could
	stateFail = "fail" // it will not work
)

// finding is one line of the doctor's report.
type finding struct {
	State  string `json:"state"`
	Topic  string `json:"topic"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"` // what to do; empty where the state is ok
}

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine offers and what is wrong with the set-up",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := examine(cmd)
			if err := reportFindings(cmd, findings, asJSON); err != nil {
				return err
			}
			for _, f := range findings {
				if f.State == stateFail {
					return errReported
				}
			}
			return nil
		},
	}
	addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func reportFindings(cmd *cobra.Command, findings []finding, asJSON bool) error {
	if asJSON {
		return printJSON(cmd, findings)
	}
	return printFindings(cmd.OutOrStdout(), findings)
}

func printFindings(out io.Writer, findings []finding) error {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%-4s  %-10s  %s\n", f.State, f.Topic, f.Detail)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%18s→ %s\n", "", f.Remedy)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// examine runs all checks. With a broken configuration those that need one go by the defaults.
func examine(cmd *cobra.Command) []finding {
	cfg, err := loadConfig(cmd)
	findings := configFindings(err)
	if err != nil {
		cfg, err = config.Load(config.Sources{})
		if err != nil { // the working folder's own file is what is broken
			return findings
		}
	}
	return append(findings, examineConfigured(cmd.Context(), cfg)...)
}

func examineConfigured(ctx context.Context, cfg config.Config) []finding {
	return slices.Concat(
		processorFindings(cfg.Model.Threads),
		deviceFindings(),
		folderFindings(),
		[]finding{listenFinding(ctx, cfg.Server.Listen), toolFinding()},
		modelFindings(ctx, cfg),
	)
}

func configFindings(err error) []finding {
	if err == nil {
		return []finding{{stateOK, "config", "valid", ""}}
	}
	var findings []finding
	for problem := range strings.SplitSeq(err.Error(), "\n") {
		findings = append(findings, finding{stateFail, "config", problem, "correct it where it was set; penstock config print shows where values come from"})
	}
	return findings
}
