// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/loading"
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

MODEL is a name in the model folder or a GGUF file; without it the built-in model is shown. The memory is what llama.cpp says of the
slots and the context that serve would use now: see --parallel, --ctx-size, --ubatch-size and --fit.`,
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
	Projector  string               `json:"projector,omitempty"` // with what it sees or hears
	Weights    []library.WeightType `json:"weights"`
	Use        shownUse             `json:"use"`
	Memory     shownMemory          `json:"memory"` // main memory
	Total      uint64               `json:"memory_total"`
	GPUs       model.Need           `json:"gpus,omitempty"`
	Available  uint64               `json:"memory_available,omitempty"` // of main memory
	Fit        string               `json:"fit,omitempty"`              // what serve would say of it
	Metadata   []shownValue         `json:"metadata"`
}

// shownMemory is what is taken of main memory, in bytes.
type shownMemory struct {
	Weights uint64 `json:"weights"`
	Mapped  uint64 `json:"mapped_weights"` // of these, pages of the file
	KVCache uint64 `json:"kv_cache"`       // and recurrent states
	Compute uint64 `json:"compute"`        // buffers of a forward pass
}

// shownUse is what the memory is for.
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
	file, err := model.Resolve(cmp.Or(arg, cfg.Model.Path), model.CheckOptions{Folder: cfg.Models.Dir})
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
	available := model.AvailableMemory()
	plan, err := loading.Plan(cmd.Context(), cfg, file.Path, available)
	if errors.Is(err, model.ErrTooLarge) {
		plan.Text, err = err.Error(), nil
	}
	if err != nil {
		return err
	}
	shown := describeModel(m, h, plan)
	shown.Available, shown.Projector = available, projectorText(cfg.Model, file)
	if asJSON {
		return printJSON(cmd, shown)
	}
	return shown.print(cmd.OutOrStdout())
}

// projectorText says with what the model would see or hear; empty: it takes text only.
func projectorText(c config.Model, file *model.File) string {
	path := c.MMProj
	if path == "" && c.MMProjAuto {
		path = file.Projector
	}
	if path == "" {
		return ""
	}
	p, err := library.Open("").Projector(path)
	if err != nil {
		return fmt.Sprintf("%s, which cannot be used: %v", path, err)
	}
	return fmt.Sprintf("%s (%s, %s)", path, p.Kinds(), bytesText(p.Bytes))
}

func describeModel(m library.Model, h *gguf.Header, p fit.Plan) shownModel {
	main := p.Need.Main()
	s := shownModel{listed: listedOf(m), Title: m.Title, Files: m.Files, Layers: m.Layers, Embedding: m.Embedding, Vocabulary: m.Vocabulary,
		Template: m.Template, Licence: m.Licence, Weights: library.WeightTypes(h), Total: main.Used(), GPUs: p.Need.GPUs(),
		Use: shownUse{p.Slots, cmp.Or(p.ContextSize, engine.DefaultCells(m.Context, p.Slots))},
		Fit: p.Text, Memory: shownMemory{main.Plain + main.Weights, main.Plain, main.Cells, main.Compute}}
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
	row("projector", s.Projector)
	row("source", s.Source)
	row("modified", s.Modified.Format(time.DateTime))
	row("digest", s.Digest)
	for _, f := range s.Files {
		row("file", f)
	}
	fmt.Fprintf(table, "\nmemory for %d slots and %d tokens\n", s.Use.Slots, s.Use.Context)
	row("  weights", fmt.Sprintf("%s, of these %s pages of the file", bytesText(s.Memory.Weights), bytesText(s.Memory.Mapped)))
	row("  KV cache", bytesText(s.Memory.KVCache))
	row("  computing", bytesText(s.Memory.Compute))
	row("  together", bytesText(s.Total))
	if s.Available > 0 {
		row("  available", bytesText(s.Available))
	}
	row("  fit", s.Fit)
	for _, d := range s.GPUs {
		row("  on "+d.Name, fmt.Sprintf("%s of %s", bytesText(d.Used()), bytesText(d.Free)))
	}
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
