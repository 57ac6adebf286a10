// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/host/author/toolchain"
	"github.com/spf13/cobra"
)

func newPluginBuild() *cobra.Command {
	var debug, asJSON bool
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Compile a plugin's project into NAME.wasm, and say what it is",
		Long: `Compile a plugin's project (the current folder, or DIR) into NAME.wasm, load it, and say what it is.

A script needs no building: it is only loaded. A folder with Cargo.toml is built by cargo, one with go.mod and target.json by TinyGo, and one with go.mod alone by Go.
Where the compiler is missing, the error says how to get it on this system. TINYGO may name TinyGo's command.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			p, err := buildProject(ctx, cmd, folderOf(args), debug)
			if err != nil {
				return err
			}
			return inspect(cmd, p.Module(), asJSON)
		},
	}
	addDebugFlag(cmd, &debug)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func addDebugFlag(cmd *cobra.Command, debug *bool) {
	cmd.Flags().BoolVar(debug, "debug", false, "keep names and line numbers, for the messages of faults")
}

// folderOf is the folder that a command works in: its argument or the current one.
func folderOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

// buildProject compiles the project of a folder. The compiler's messages go to standard error as
// they are.
func buildProject(ctx context.Context, cmd *cobra.Command, dir string, debug bool) (project.Project, error) {
	p, err := project.Open(dir)
	if errors.Is(err, project.ErrNoProject) {
		return p, usageError{err}
	}
	if err != nil {
		return p, err
	}
	if p.Language == project.JavaScript {
		return p, nil // it runs as it is
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "building %s with %s\n", p.Module(), p.Language.Compiler())
	tools, err := toolchain.Find(ctx, p.Language)
	if err != nil {
		return p, err
	}
	return p, tools.Build(ctx, p, toolchain.Options{Debug: debug, Output: cmd.ErrOrStderr()})
}

// moduleOf is the module or the script that an argument means: a file, or what the project of a
// folder builds.
// cases is the folder of the golden cases that belong to it.
func moduleOf(ctx context.Context, cmd *cobra.Command, args []string, debug bool) (file, cases string, _ error) {
	place := folderOf(args)
	info, err := os.Stat(place)
	if err != nil {
		return "", "", err
	}
	if !info.IsDir() {
		return place, strings.TrimSuffix(place, filepath.Ext(place)) + ".cases", nil
	}
	p, err := buildProject(ctx, cmd, place, debug)
	return p.Module(), p.Cases(), err
}
