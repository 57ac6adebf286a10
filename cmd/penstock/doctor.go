// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
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
			r := report{findings: []finding{}}
			if !asJSON {
				r.out = cmd.OutOrStdout()
			}
			examine(cmd, &r)
			if asJSON {
				r.err = printJSON(cmd, r.findings)
			}
			if r.err == nil && slices.ContainsFunc(r.findings, func(f finding) bool { return f.State == stateFail }) {
				return errReported
			}
			return r.err
		},
	}
	addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// report collects findings. If it has an out, it prints each at once, so that a crash hides
// nothing that was found before.
type report struct {
	out      io.Writer
	findings []finding
	err      error // of printing
}

func (r *report) add(findings ...finding) {
	r.findings = append(r.findings, findings...)
	if r.out != nil && r.err == nil {
		r.err = printFindings(r.out, findings)
	}
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

// examine runs all checks. If the configuration is broken, the checks that need one use the
// defaults.
func examine(cmd *cobra.Command, r *report) {
	cfg, err := loadConfig(cmd)
	r.add(configFindings(err)...)
	if err != nil {
		cfg, err = config.Load(config.Sources{})
		if err != nil { // the working folder's own file is broken
			return
		}
	}
	examineConfigured(cmd.Context(), cfg, r)
}

func examineConfigured(ctx context.Context, cfg config.Config, r *report) {
	r.add(processorFinding(cfg.Model.Threads))
	r.add(optionsFinding(cfg))
	level, _ := native.Level()
	r.add(levelFindings(level)...)
	r.add(deviceFindings(model.Survey(ctx))...)
	r.add(workerFindings(ctx, cfg.Workers)...)
	r.add(folderFindings(library.Open(cfg.Models.Dir))...)
	r.add(listenFinding(ctx, cfg.Server))
	r.add(accessFindings(cfg)...)
	r.add(policyFindings(ctx, cfg)...)
	r.add(receiptFindings(cfg.Receipts)...)
	r.add(toolFinding())
	r.add(modelFindings(ctx, cfg)...)
}

// optionsFinding says which of llama.cpp's options differ from the defaults.
func optionsFinding(cfg config.Config) finding {
	if changed := cfg.Changed(); len(changed) > 0 {
		return finding{stateOK, "options", "llama.cpp's that differ from the defaults: " + strings.Join(changed, ", "), ""}
	}
	return finding{stateOK, "options", "llama.cpp's are all as by default", ""}
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
