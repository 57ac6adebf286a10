// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/penstock/penstock/native"
	"github.com/spf13/cobra"
)

// build describes this binary.
type build struct {
	Penstock   string `json:"penstock"`
	LlamaCPP   string `json:"llama_cpp"`
	Backend    string `json:"backend"`             // of llama.cpp: cpu, cuda, ...
	OwnKernels bool   `json:"own_kernels"`         // whether it contains Penstock's CPU kernels
	CPULevel   string `json:"cpu_level,omitempty"` // that the kernels in use are for; empty: the build is for one CPU
	BuildStamp string `json:"build_stamp"`         // a hash of llama.cpp's source, our shim, flags and compiler
	Go         string `json:"go"`
	Wazero     string `json:"wazero,omitempty"` // empty: plugins are not built in
	Platform   string `json:"platform"`
}

func thisBuild() build {
	stamp, backend := native.Build()
	level, _ := native.Level()
	return build{
		Penstock: version, LlamaCPP: native.Version(), Backend: backend, OwnKernels: native.HasOwnKernels(), CPULevel: level.Used, BuildStamp: stamp,
		Go: runtime.Version(), Wazero: moduleVersion("github.com/tetratelabs/wazero"),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func kernelsText(own bool) string {
	if own {
		return "with Penstock's kernels"
	}
	return "without Penstock's kernels (PENSTOCK_KERNELS=OFF)"
}

// moduleVersion is the version of a module in this binary, or empty if it is not linked.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Penstock and what is in it",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return printJSON(cmd, b)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "penstock %s %s\n", b.Penstock, b.Platform)
			fmt.Fprintf(out, "llama.cpp %s, backend %s, %s, build %s\n", b.LlamaCPP, b.Backend, kernelsText(b.OwnKernels), b.BuildStamp)
			if b.Wazero != "" {
				fmt.Fprintf(out, "wazero %s\n", b.Wazero)
			}
			_, err := fmt.Fprintln(out, b.Go)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
