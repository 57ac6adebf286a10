// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/author/dev"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/web"
	"github.com/spf13/cobra"
)

// ownHost starts a host for one author: on a free port of this machine, with an empty plugin
// folder of its own. end stops it.
func ownHost(ctx context.Context, cmd *cobra.Command) (_ *dev.Client, end func() error, _ error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "penstock-plugins-")
	if err != nil {
		return nil, nil, err
	}
	cfg.Plugins.Dir, cfg.Plugins.Default, cfg.Plugins.PolicyFile, cfg.Plugins.Lock = folder, nil, "", nil
	cfg.Plugins.Log = true
	cfg.Server.AdminKey, cfg.Server.APIKeys = rand.Text(), nil
	url, stop, err := privateHost(ctx, cmd, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	end = func() error { return errors.Join(stop(), os.RemoveAll(folder)) }
	return &dev.Client{URL: url, AdminKey: cfg.Server.AdminKey, Folder: folder}, end, nil
}

// privateHost starts a host on a free port of this machine, with the keys of the configuration.
func privateHost(ctx context.Context, cmd *cobra.Command, cfg config.Config) (url string, end func() error, _ error) {
	s := &cfg.Server
	s.Listen, s.APIPrefix = config.Address{Host: "127.0.0.1", Port: "0"}, ""
	s.APIKeyFile, s.SSLCertFile, s.SSLKeyFile = "", "", ""
	s.RateLimitRequests, s.RateLimitTokens = 0, 0
	log := cmd.ErrOrStderr()
	h, err := host.Open(ctx, host.Options{
		Config: cfg, UI: web.FS(), Version: version, Log: slog.New(guestLog{to: log}), Progress: newProgress(log, modelName(cfg)).show,
	})
	if err != nil {
		return "", nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- h.Run(running) }()
	return h.URL(), func() error {
		stop()
		return <-stopped
	}, nil
}

// guestLog is a log for the author of a plugin: it prints what plugins write, and warnings of the
// host.
type guestLog struct {
	to     io.Writer
	plugin string // whose log it is; empty: the host's
}

// Enabled implements slog.Handler.
func (l guestLog) Enabled(_ context.Context, level slog.Level) bool {
	return l.plugin != "" || level >= slog.LevelWarn
}

// Handle implements slog.Handler.
func (l guestLog) Handle(_ context.Context, r slog.Record) error {
	who := l.plugin
	if who == "" {
		who = "host"
	}
	line := fmt.Sprintf("%s: %s: %s", who, r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	_, err := fmt.Fprintln(l.to, line)
	return err
}

// WithAttrs implements slog.Handler.
func (l guestLog) WithAttrs(attributes []slog.Attr) slog.Handler {
	for _, a := range attributes {
		if a.Key == "plugin" {
			l.plugin = a.Value.String()
		}
	}
	return l
}

// WithGroup implements slog.Handler.
func (l guestLog) WithGroup(string) slog.Handler { return l }
