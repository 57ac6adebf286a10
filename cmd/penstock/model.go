// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/hub"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native/gguf"
)

func newModel() *cobra.Command {
	return newGroup("model", "The model folder: what it holds, and pulling more into it",
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
		list = append(list, describeListed(m))
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
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", m.Name, m.Architecture, m.ParameterSize(), m.Quantisation, formatBytes(uint64(m.Size)), m.Context,
			m.Modified.Format(time.DateOnly))
	}
	for _, m := range unreadable {
		fmt.Fprintf(table, "%s\tcannot be read: %v\n", m.Name, m.Err)
	}
	return table.Flush()
}

func describeListed(m library.Model) listed {
	l := listed{Name: m.Name, Path: m.Files[0], Architecture: m.Architecture, Parameters: m.Parameters, Quantisation: m.Quantisation, Size: m.Size,
		Context: m.Context, Modified: m.Modified.UTC().Truncate(time.Second), Digest: m.Digest}
	if m.Source != nil {
		l.Source = m.Source.From
	}
	return l
}

// formatBytes writes a number of bytes for a person.
func formatBytes(n uint64) string {
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
	shown.Available, shown.Projector = available, describeProjector(cfg.Model, file)
	if asJSON {
		return printJSON(cmd, shown)
	}
	return shown.print(cmd.OutOrStdout())
}

// describeProjector names the projector with which the model would see or hear; empty: it takes
// text only.
func describeProjector(c config.Model, file *model.File) string {
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
	return fmt.Sprintf("%s (%s, %s)", path, p.Kinds(), formatBytes(p.Bytes))
}

func describeModel(m library.Model, h *gguf.Header, p fit.Plan) shownModel {
	main := p.Need.Main()
	s := shownModel{listed: describeListed(m), Title: m.Title, Files: m.Files, Layers: m.Layers, Embedding: m.Embedding, Vocabulary: m.Vocabulary,
		Template: m.Template, Licence: m.Licence, Weights: library.WeightTypes(h), Total: main.Used(), GPUs: p.Need.GPUs(),
		Use: shownUse{p.Slots, cmp.Or(p.ContextSize, engine.DefaultCells(m.Context, p.Slots))},
		Fit: p.Text, Memory: shownMemory{main.Plain + main.Weights, main.Plain, main.Cells, main.Compute}}
	for _, key := range h.Keys {
		v := h.Values[key]
		s.Metadata = append(s.Metadata, shownValue{key, v.Type.String(), shortValue(v)})
	}
	return s
}

// shortValue shortens a value of the header: a text is cut, and a list becomes its length.
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
	row("  weights", fmt.Sprintf("%s, of these %s pages of the file", formatBytes(s.Memory.Weights), formatBytes(s.Memory.Mapped)))
	row("  KV cache", formatBytes(s.Memory.KVCache))
	row("  computing", formatBytes(s.Memory.Compute))
	row("  together", formatBytes(s.Total))
	if s.Available > 0 {
		row("  available", formatBytes(s.Available))
	}
	row("  fit", s.Fit)
	for _, d := range s.GPUs {
		row("  on "+d.Name, fmt.Sprintf("%s of %s", formatBytes(d.Used()), formatBytes(d.Free)))
	}
	fmt.Fprintln(table, "\nweights by type")
	for _, w := range s.Weights {
		row("  "+w.Type, fmt.Sprintf("%s in %d tensors", formatBytes(w.Bytes), w.Tensors))
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

func newModelPull() *cobra.Command {
	var options hub.Options
	var connections int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pull MODEL",
		Short: "Download a model from a hub or a URL into the model folder",
		Long: `Download a model from a hub or a URL into the model folder.

MODEL is one of
  OWNER/NAME                 a repository of a hub; of its models, Q4_K_M, else Q8_0, else the first
  OWNER/NAME:Q5_K_M          the one with this quantisation
  OWNER/NAME@REVISION:Q5_K_M of a branch, a tag or a commit
  hf://OWNER/NAME/FILE.gguf  one file; the address of a page of the hub does, too
  https://HOST/FILE.gguf     a URL

The projector of a model that sees or hears comes with it, as mmproj-NAME.gguf beside the model, where serve finds it.

A pull that was cut goes on where it ended when it is started again. Of a model that is there and whole, by the hashes noted beside
it, nothing is asked unless --ask-hub says so. HF_TOKEN is the token for private and gated repositories.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if connections < 1 || connections > 64 {
				return usageError{fmt.Errorf("--connections is %d; it must be 1 to 64", connections)}
			}
			return pullModel(cmd, args[0], options, connections, asJSON)
		},
	}
	addConfigFlags(cmd, "models")
	cmd.Flags().StringVar(&options.Name, "name", "", "name of the model in the folder (default: its file's)")
	cmd.Flags().StringVar(&options.SHA256, "sha256", "", "hash that the file must have; a hub names it itself")
	cmd.Flags().BoolVar(&options.AskHub, "ask-hub", false, "ask the hub also about a model that is there and whole: it may have another file by now")
	cmd.Flags().BoolVar(&options.NoProjector, "no-mmproj", false, "without the projector: the model takes text only")
	cmd.Flags().IntVar(&connections, "connections", 4, "connections at once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func pullModel(cmd *cobra.Command, arg string, o hub.Options, connections int, asJSON bool) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	reference, err := hub.Parse(arg)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	o.Folder = library.Open(cfg.Models.Dir).Folder
	client := host.HubClient(cfg.Models.Hub, "penstock/"+version)
	client.Connections = connections
	shown := newPullProgress(cmd.ErrOrStderr(), arg)
	client.Notify = shown.show
	result, err := client.Pull(ctx, reference, o)
	shown.end()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; pull again to go on: %w", err)
	}
	if errors.Is(err, hub.ErrReference) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd, result)
	}
	if result.Bytes == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is there already\n", result.Name)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), result.Path)
	return err
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
		if !readConfirmation(cmd.InOrStdin()) {
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

// readConfirmation reads a line and reports whether it says yes. It reads no further, so that the
// next question gets its own answer.
func readConfirmation(in io.Reader) bool {
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
