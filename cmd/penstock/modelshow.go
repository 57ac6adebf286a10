// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native/gguf"
	"github.com/spf13/cobra"
)

func newModelShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [MODEL]",
		Short: "Show what a model's files say of it, and the memory it takes",
		Long: `Show what a model's files say of it, and the memory it takes.

MODEL is a name in the model folder or a GGUF file; without it the built-in model is shown. The memory is an estimate for the
slots and the context that serve would use: see --parallel, --ctx-size and --ubatch-size.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showModel(cmd, append(args, "")[0], asJSON)
		},
	}
	addConfigFlags(cmd, "model", "models", "scheduler")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// shownModel is the result of `model show`.
type shownModel struct {
	listed
	Title      string               `json:"title,omitempty"`
	Files      []string             `json:"files"`
	Layers     int                  `json:"layers"`
	Embedding  int                  `json:"embedding"`
	Vocabulary int                  `json:"vocabulary"`
	Template   bool                 `json:"chat_template"`
	Licence    string               `json:"license,omitempty"`
	Weights    []library.WeightType `json:"weights"`
	Use        shownUse             `json:"use"`
	Memory     library.Memory       `json:"memory"`
	Total      uint64               `json:"memory_total"`
	Metadata   []shownValue         `json:"metadata"`
}

// shownUse is what the memory is estimated for.
type shownUse struct {
	Slots   int `json:"slots"`
	Context int `json:"context"` // tokens of all slots together
}

// shownValue is a key of the header with its value, which is shortened where it is long.
type shownValue struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

func showModel(cmd *cobra.Command, arg string, asJSON bool) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	file, err := model.Resolve(cmp.Or(arg, cfg.Model.Path), model.Options{Folder: cfg.Models.Dir})
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a temporary copy of the built-in model
	m, err := library.Open(cfg.Models.Dir).Model(file.Path)
	if err != nil {
		return err
	}
	m.Name = file.Name
	h, err := m.Header()
	if err != nil {
		return err
	}
	shown := describeModel(m, h, cfg)
	if asJSON {
		return printJSON(cmd, shown)
	}
	return shown.print(cmd.OutOrStdout())
}

func describeModel(m library.Model, h *gguf.Header, cfg config.Config) shownModel {
	use := library.Use{Slots: cfg.Scheduler.Slots, UBatch: cfg.Scheduler.UBatchSize,
		Cells: cmp.Or(cfg.Model.CtxSize, engine.DefaultCells(m.Context, cfg.Scheduler.Slots))}
	memory := m.Memory(use)
	s := shownModel{listed: listedOf(m), Title: m.Title, Files: m.Files, Layers: m.Layers, Embedding: m.Embedding, Vocabulary: m.Vocabulary,
		Template: m.Template, Licence: m.Licence, Weights: library.WeightTypes(h), Use: shownUse{use.Slots, use.Cells}, Memory: memory, Total: memory.Total()}
	for _, key := range h.Keys {
		v := h.Values[key]
		s.Metadata = append(s.Metadata, shownValue{key, v.Type.String(), shortValue(v)})
	}
	return s
}

// shortValue is a value of the header: texts are cut, and of lists only the length is told.
func shortValue(v gguf.Value) any {
	const longest = 200 // bytes
	switch v.Type {
	case gguf.Array:
		return fmt.Sprintf("%d x %v", v.Len(), v.Elem)
	case gguf.String:
		return excerpt.Of(v.Text(), longest)
	case gguf.Bool:
		return v.Int(0) != 0
	case gguf.Float32, gguf.Float64:
		return v.Float(0)
	default:
		return v.Int(0)
	}
}

func (s shownModel) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "0" {
			fmt.Fprintf(table, "%s\t%s\n", name, text)
		}
	}
	row("name", s.Name)
	row("title", s.Title)
	row("architecture", s.Architecture)
	row("parameters", library.Details{Parameters: s.Parameters}.ParameterSize())
	row("quantisation", s.Quantisation)
	row("context", s.Context)
	row("layers", s.Layers)
	row("embedding", s.Embedding)
	row("vocabulary", s.Vocabulary)
	row("chat template", map[bool]string{true: "yes", false: "no"}[s.Template])
	row("licence", cmp.Or(s.Licence, "not stated"))
	row("source", s.Source)
	row("modified", s.Modified.Format(time.DateTime))
	row("digest", s.Digest)
	for _, f := range s.Files {
		row("file", f)
	}
	fmt.Fprintf(table, "\nmemory for %d slots and %d tokens\n", s.Use.Slots, s.Use.Context)
	row("  weights", bytesText(s.Memory.Weights))
	row("  KV cache", bytesText(s.Memory.KVCache))
	if s.Memory.State > 0 {
		row("  states", bytesText(s.Memory.State))
	}
	row("  computing", "about "+bytesText(s.Memory.Compute))
	row("  together", "about "+bytesText(s.Total))
	fmt.Fprintln(table, "\nweights by type")
	for _, w := range s.Weights {
		row("  "+w.Type, fmt.Sprintf("%s in %d tensors", bytesText(w.Bytes), w.Tensors))
	}
	fmt.Fprintln(table, "\nmetadata")
	for _, v := range s.Metadata {
		fmt.Fprintf(table, "  %s\t%s\n", v.Key, oneLine(v.Value))
	}
	return table.Flush()
}

// oneLine writes a value without line breaks and control characters.
func oneLine(v any) string {
	if text, isText := v.(string); isText {
		quoted := fmt.Sprintf("%q", text)
		return quoted[1 : len(quoted)-1]
	}
	return fmt.Sprint(v)
}
