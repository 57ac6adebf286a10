// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/penstock/penstock/host/library"
	"github.com/spf13/cobra"
)

func newModel() *cobra.Command {
	return group("model", "The model folder: what it holds, and pulling more into it",
		newModelList(), newModelShow(), newModelPull(), newModelRemove())
}

// openLibrary opens the configured model folder.
func openLibrary(cmd *cobra.Command) (*library.Library, error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	return library.Open(cfg.Models.Dir), nil
}

func newModelList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the models of the model folder",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			models, err := openLibrary(cmd)
			if err != nil {
				return err
			}
			return listModels(cmd, models, asJSON)
		},
	}
	addConfigFlags(cmd, "models")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listed is a model of `model list --json`.
type listed struct {
	Name         string    `json:"name"`
	Path         string    `json:"path"`
	Architecture string    `json:"architecture,omitempty"`
	Parameters   uint64    `json:"parameters,omitempty"`
	Quantisation string    `json:"quantization,omitempty"`
	Size         int64     `json:"size,omitempty"`
	Context      int       `json:"context,omitempty"`
	Modified     time.Time `json:"modified,omitzero"`
	Digest       string    `json:"digest,omitempty"`
	Source       string    `json:"source,omitempty"`
	Error        string    `json:"error,omitempty"`
}

func listModels(cmd *cobra.Command, models *library.Library, asJSON bool) error {
	list := []listed{}
	readable, unreadable := models.Models()
	for _, m := range readable {
		list = append(list, listedOf(m))
	}
	for _, m := range unreadable {
		list = append(list, listed{Name: m.Name, Path: m.Path, Error: m.Err.Error()})
	}
	if asJSON {
		return printJSON(cmd, list)
	}
	if len(list) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s holds no model yet; penstock model pull OWNER/NAME fetches one\n", models.Folder)
		return nil
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tARCHITECTURE\tPARAMETERS\tQUANT\tSIZE\tCONTEXT\tMODIFIED")
	for _, m := range readable {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", m.Name, m.Architecture, m.ParameterSize(), m.Quantisation, bytesText(uint64(m.Size)), m.Context,
			m.Modified.Format(time.DateOnly))
	}
	for _, m := range unreadable {
		fmt.Fprintf(table, "%s\tcannot be read: %v\n", m.Name, m.Err)
	}
	return table.Flush()
}

func listedOf(m library.Model) listed {
	l := listed{Name: m.Name, Path: m.Files[0], Architecture: m.Architecture, Parameters: m.Parameters, Quantisation: m.Quantisation, Size: m.Size,
		Context: m.Context, Modified: m.Modified.UTC().Truncate(time.Second), Digest: m.Digest}
	if m.Source != nil {
		l.Source = m.Source.From
	}
	return l
}

// bytesText writes a number of bytes for a person.
func bytesText(n uint64) string {
	for _, u := range []struct {
		size float64
		unit string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if float64(n) >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/u.size, u.unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func newModelRemove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:     "rm NAME...",
		Aliases: []string{"remove"},
		Short:   "Remove models from the model folder, with all their files",
		Args:    atLeastOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			models, err := openLibrary(cmd)
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range names {
				errs = append(errs, removeModel(cmd, models, name, yes))
			}
			return errors.Join(errs...)
		},
	}
	addConfigFlags(cmd, "models")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func removeModel(cmd *cobra.Command, models *library.Library, name string, yes bool) error {
	files, err := models.Removable(name)
	if err != nil {
		return err
	}
	if !yes {
		if !isTerminal(cmd.InOrStdin()) {
			return usageError{fmt.Errorf("rm asks before it removes %s, and nobody can answer; add --yes", name)}
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "Remove %s?\n  %s\n[y/N] ", name, strings.Join(files, "\n  "))
		if !confirmed(cmd.InOrStdin()) {
			return fmt.Errorf("%s was not removed", name)
		}
	}
	if err := models.Remove(files); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	for _, f := range files {
		fmt.Fprintln(cmd.OutOrStdout(), f)
	}
	return nil
}

// confirmed reads a line and reports whether it says yes. It reads no further, so that the next
// question has its own answer.
func confirmed(in io.Reader) bool {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		if n == 1 && one[0] != '\n' {
			line = append(line, one[0])
		}
		if err != nil || n == 1 && one[0] == '\n' {
			answer := strings.ToLower(strings.TrimSpace(string(line)))
			return answer == "y" || answer == "yes"
		}
	}
}
