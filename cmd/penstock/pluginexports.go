// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"path/filepath"

	"github.com/penstock/penstock/host/author/exports"
	"github.com/spf13/cobra"
)

func newPluginExports() *cobra.Command {
	return &cobra.Command{
		Use:   "exports [DIR]",
		Short: "Write " + exports.File + " of a plugin in Go: what its type's methods need",
		Long: `Write ` + exports.File + ` of a plugin in Go (in the current folder, or DIR): it exports to the host what the plugin's type has methods
for. 'plugin build' does so too; this is for those who build with TinyGo or Go themselves. Its errors name file and line.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := folderOf(args)
			changed, err := exports.Write(dir)
			if err != nil {
				return err
			}
			if !changed {
				fmt.Fprintln(cmd.ErrOrStderr(), "it is up to date")
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, exports.File))
			return err
		},
	}
}
