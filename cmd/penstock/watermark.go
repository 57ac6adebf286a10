// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/native"
	"github.com/spf13/cobra"
)

func newWatermark() *cobra.Command {
	return newGroup("watermark", "The mark that the plugin watermark leaves in texts", newWatermarkDetect())
}

func newWatermarkDetect() *cobra.Command {
	var keyFile string
	var asJSON bool
	c := watermark.Config{}
	cmd := &cobra.Command{
		Use:   "detect --key-file FILE [TEXT]",
		Short: "Tell whether a text has the watermark of a key",
		Long: `Tell whether a text has the watermark of a key.

TEXT is a file; without it, or with -, the text is read from standard input. --model names the model that has written it, of which
only the vocabulary is read. Scheme, context and gamma must be those of the plugin's configuration.

The p-value is the probability that text without the mark shows as much of it. Below 0.00001 it is safe to say that it is there.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return detectWatermark(cmd, append(args, "-")[0], keyFile, c, asJSON)
		},
	}
	addConfigFlags(cmd, "model", "models", "log")
	flags := cmd.Flags()
	flags.StringVar(&keyFile, "key-file", "", "the `FILE` that has the key, 64 hexadecimal digits")
	flags.StringVar(&c.Scheme, "scheme", watermark.Gumbel, "gumbel or green")
	flags.IntVar(&c.Context, "context", watermark.DefaultContext, "how many tokens decide the number of the next")
	flags.Float64Var(&c.Gamma, "gamma", watermark.DefaultGamma, "green: the share of tokens that are green")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	if err := cmd.MarkFlagRequired("key-file"); err != nil {
		panic(err) // the flag is there
	}
	return cmd
}

func detectWatermark(cmd *cobra.Command, path, keyFile string, c watermark.Config, asJSON bool) (err error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	c.Key = strings.TrimSpace(string(key))
	detector, err := watermark.New(c)
	if err != nil {
		return usageError{err}
	}
	text, err := readText(cmd, path)
	if err != nil {
		return fmt.Errorf("read the text: %w", err)
	}
	native.SetLogger(quietLogger(cmd.ErrOrStderr(), cfg).With(slog.String("from", "llama.cpp")))
	file, err := model.Resolve(cfg.Model.Path, model.CheckOptions{Folder: cfg.Models.Dir})
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a temporary copy of the built-in model
	m, err := native.LoadModel(cmd.Context(), file.Path, native.ModelOptions{VocabOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	tokens, err := m.Tokenize(cmd.Context(), string(text), native.TokenizeOptions{})
	if err != nil {
		return err
	}
	r := detector.Detect(tokens)
	if asJSON {
		return printJSON(cmd, r)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "tokens\t%d, of which %d count\n", r.Tokens, r.Scored)
	fmt.Fprintf(table, "score\t%.1f, without the mark about %.1f\n", r.Score, r.Expected)
	fmt.Fprintf(table, "p-value\t%.2g\n", r.PValue)
	return table.Flush()
}

// readText reads a file; -: standard input.
func readText(cmd *cobra.Command, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(path)
}
