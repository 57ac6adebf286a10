// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/penstock/penstock/host/author/project"
	"github.com/spf13/cobra"
)

func newPluginNew() *cobra.Command {
	var language, kind string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Begin a plugin: a folder with an example that works, its tests and the SDK",
		Long: `Begin a plugin in the new folder NAME: an example that works, a native test, a golden case, and a copy of the SDK. Nothing is
downloaded, now or later.

--lang tinygo makes small and fast modules of Go; --lang go needs nothing but Go, and makes modules that are thirty times as large and
two to four times slower; --lang rust needs cargo with the target wasm32-unknown-unknown; --lang js makes a script, which
needs nothing and no building, and is slower still.
A sampler chooses among the candidates for the next token, a stop rule decides when the answer ends, and a template writes the prompt.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := project.Options{Name: filepath.Base(filepath.Clean(args[0])), Language: project.Language(language), Kind: project.Kind(kind)}
			p, err := project.Create(args[0], o)
			if errors.Is(err, project.ErrOption) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "next: cd %s && penstock plugin test\n", p.Dir)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), p.Dir)
			return err
		},
	}
	cmd.Flags().StringVar(&language, "lang", string(project.TinyGo), "what to write it in: go, tinygo, rust or js")
	cmd.Flags().StringVar(&kind, "kind", string(project.Sampler), "what it does: sampler, stop, template or program")
	return cmd
}
