// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	interpreter "github.com/penstock/penstock/plugins/script"
	"github.com/spf13/cobra"
)

func newPluginIndex() *cobra.Command {
	var o index.Options
	var signWith string
	cmd := &cobra.Command{
		Use:   "index FOLDER",
		Short: "Write the index of a folder's plugins, from which others can install them",
		Long: "Write the index of a folder's plugins, from which others can install them, as " + index.FileName + " in that folder.\n\n" +
			"In --url and --source, {name}, {version}, {sha256} and {file} stand for the plugin's own.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeIndex(cmd, args[0], o, signWith)
		},
	}
	cmd.Flags().StringVar(&o.URL, "url", "", "where each file will be, such as https://example.com/{file} or oci://registry.example.com/team/{name}:{version}; default: beside the index")
	cmd.Flags().StringVar(&o.License, "license", "", "the licence of all, as SPDX names it")
	cmd.Flags().StringVar(&o.Source, "source", "", "where the source of each is")
	cmd.Flags().StringVar(&signWith, "sign", "", "sign the index with the private key in this `file`, as openssl genpkey -algorithm ed25519 writes it")
	return cmd
}

func writeIndex(cmd *cobra.Command, folder string, o index.Options, signWith string) (err error) {
	var private ed25519.PrivateKey
	if signWith != "" {
		text, err := os.ReadFile(signWith)
		if err == nil {
			private, err = index.ReadPrivateKey(text)
		}
		if err != nil {
			return fmt.Errorf("--sign %s: %w", signWith, err)
		}
		o.Key, o.Created = index.FormatKey(private.Public().(ed25519.PublicKey)), time.Now().Unix()
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	loader := load.New(plugin.HostOptions{Interpreter: interpreter.Module, CacheDir: codeCache()})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(ctx))) }()
	text, err := index.Make(ctx, loader, folder, o)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, index.FileName)
	if private == nil {
		err = atomicfile.Remove(path + index.SignatureSuffix) // that of an index from before
	} else {
		_, err = atomicfile.WriteBytes(path+index.SignatureSuffix, 0o644, index.Sign(text, private))
		fmt.Fprintf(cmd.ErrOrStderr(), "what others write behind its address in plugins.indexes: #%s\n", o.Key)
	}
	if err == nil {
		_, err = atomicfile.WriteBytes(path, 0o644, text)
	}
	if err == nil {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	return err
}
