// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/native"
	"github.com/spf13/cobra"
)

func newEmbed() *cobra.Command {
	var asJSON bool
	var normalize int
	cmd := &cobra.Command{
		Use:   "embed [MODEL] TEXT...",
		Short: "Compute embeddings of texts, as JSON",
		Long: `Compute embeddings of texts, as JSON.

The first argument is a MODEL where it names one (a file or a name in the model folder), else a TEXT. Without a TEXT each line of
the input is one. Each vector is printed on a line; with --json everything is one object.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("normalize") {
				cfg.Embedding.Normalize = normalize
			}
			return embed(cmd, cfg, args, asJSON)
		},
	}
	addConfigFlags(cmd, "model", "models", "embedding", "log")
	cmd.Flags().IntVar(&normalize, "normalize", embedding.NormalizeEuclidean, "the same as --embd-normalize")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object with the texts and the model")
	return cmd
}

func embed(cmd *cobra.Command, cfg config.Config, args []string, asJSON bool) error {
	if len(args) > 0 && namesModel(args[0], library.Open(cfg.Models.Dir)) {
		cfg.Model.Path, args = args[0], args[1:]
	}
	if err := embedding.CheckNormalize(cfg.Embedding.Normalize); err != nil {
		return usageError{err}
	}
	if cfg.Embedding.Pooling == string(embedding.PoolingRank) {
		return usageError{errors.New("--pooling rank is for scores of documents, which penstock serve gives with --reranking")}
	}
	texts, err := readTexts(args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	log := quietLogger(cmd.ErrOrStderr(), cfg)
	native.SetLogger(log.With(slog.String("from", "llama.cpp")))
	m, err := loading.OpenEmbedder(ctx, cfg, log, newProgress(cmd.ErrOrStderr(), modelName(cfg)).show)
	if err != nil {
		return err
	}
	answer, err := computeEmbeddings(ctx, m.Model, texts)
	if err == nil {
		err = answer.print(cmd.OutOrStdout(), asJSON)
	}
	return errors.Join(err, m.Close())
}

// readTexts returns the arguments, or if there are none the lines of the piped input.
func readTexts(args []string, in io.Reader) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	var texts []string
	if !isTerminal(in) {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if lines.Text() != "" {
				texts = append(texts, lines.Text())
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read the texts: %w", err)
		}
	}
	if len(texts) == 0 {
		return nil, usageError{errors.New("there is no text: give some as arguments, or as lines on standard input")}
	}
	return texts, nil
}

// embeddedTexts is what is printed.
type embeddedTexts struct {
	Model      string         `json:"model"`
	Pooling    string         `json:"pooling"`
	Dimensions int            `json:"dimensions"`
	Tokens     int            `json:"tokens"`
	Data       []embeddedText `json:"data"`
}

type embeddedText struct {
	Index     int    `json:"index"`
	Text      string `json:"text"`
	Embedding any    `json:"embedding"` // a vector; without pooling one for each token
}

func computeEmbeddings(ctx context.Context, m *embedding.Model, texts []string) (embeddedTexts, error) {
	r := embedding.Task{Pooling: m.OneVector, Normalize: m.Normalize, Inputs: make([][]int32, len(texts))}
	for i, text := range texts {
		var err error
		if r.Inputs[i], err = m.Tokenize(ctx, text, true, true); err != nil {
			return embeddedTexts{}, fmt.Errorf("text %d: %w", i+1, err)
		}
	}
	result, err := m.Embed(ctx, r)
	if err != nil {
		return embeddedTexts{}, err
	}
	out := embeddedTexts{Model: m.Name, Pooling: string(r.Pooling), Dimensions: len(result.Vectors[0][0]), Tokens: result.Tokens}
	for i, v := range result.Vectors {
		t := embeddedText{Index: i, Text: texts[i], Embedding: v}
		if r.Pooling != embedding.PoolingNone {
			t.Embedding = v[0]
		}
		out.Data = append(out.Data, t)
	}
	return out, nil
}

func (e embeddedTexts) print(out io.Writer, asJSON bool) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if asJSON {
		return encoder.Encode(e)
	}
	for _, t := range e.Data {
		if err := encoder.Encode(t.Embedding); err != nil {
			return err
		}
	}
	return nil
}
