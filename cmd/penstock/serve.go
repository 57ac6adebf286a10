// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/web"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Serve a model: API and browser UI",
		Long: `Serve a model: API and browser UI.

MODEL is a GGUF file or a name in the model folder; without it the built-in model is served.
With --models-dir DIR all models of that folder are served: each is loaded when a request names it.
The first SIGINT, SIGTERM or SIGHUP lets running answers end, the second ends at once.`,
		Args: atMost(1),
		RunE: serve,
	}
	addConfigFlags(cmd)
	return cmd
}

func serve(cmd *cobra.Command, args []string) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		cfg.Model.Path = args[0]
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	var ui fs.FS
	if cfg.Server.UI {
		ui = web.FS()
	}
	h, err := host.Open(ctx, host.Options{
		Config:   cfg,
		UI:       ui,
		Version:  version,
		Progress: newServeProgress(cmd.ErrOrStderr(), cfg),
		Ready:    func(url string) { fmt.Fprintln(cmd.OutOrStdout(), url) },
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; end what uses it, or choose another address with --listen", err)
	}
	if err != nil {
		return err
	}
	return h.Run(ctx)
}

// newServeProgress is a bar on a terminal; elsewhere the log tells when the model is loaded.
func newServeProgress(out io.Writer, cfg config.Config) func(float32) {
	if !isTerminal(out) {
		return nil
	}
	return newProgress(out, modelName(cfg)).show
}

// workerFlags are those of penstock worker.
type workerFlags struct {
	listen   string
	devices  []string
	threads  int
	noCache  bool
	kernels  string
	security config.Workers
}

func newWorker() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Let a host on another machine compute with this machine's devices",
		Long: `Let a host on another machine compute with this machine's devices.

There, penstock serve --rpc HOST:PORT puts layers of its model on them. Both must be the same release of Penstock.
A worker serves one host at a time. Weights that were sent once are kept in the cache folder.`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:50052", "HOST:PORT to serve on; port 0 takes a free one")
	flags.StringSliceVar(&f.devices, "device", nil, "devices that compute, as penstock doctor names them (default: all GPUs, or the CPU where there is none)")
	flags.IntVar(&f.threads, "threads", 0, "threads of the CPU; 0: one for each physical core")
	flags.StringVar(&f.kernels, "kernels", string(native.ChoosePenstock), "kernels of the CPU to prefer: penstock, amx, ggml or plain; they differ in speed and rounding")
	flags.BoolVar(&f.noCache, "no-cache", false, "have weights sent with each load")
	flags.StringVar(&f.security.TLSCert, "tls-cert", "", "PEM file with the certificate that this worker shows to hosts")
	flags.StringVar(&f.security.TLSKey, "tls-key", "", "PEM file with the private key of the certificate")
	flags.StringVar(&f.security.TLSCA, "tls-ca", "", "PEM file with the certificates of the authority that has signed those of hosts")
	flags.BoolVar(&f.security.Insecure, "insecure", false, "serve other machines without TLS: whoever reaches this address can run code here")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key", "tls-ca")
	return cmd
}

// startConnection starts the process of a connection, with what is sound of the cache. A cache that
// cannot be used, as on a full disk, is done without.
func startConnection(o compute.Options, cache *compute.Cache, log *slog.Logger) (remote.Child, error) {
	removed, err := cache.CheckNew()
	if removed > 0 {
		log.Warn("weights that were cut short are sent again", slog.Int("files", removed))
	}
	if err != nil {
		log.Warn("the cache folder cannot be used: weights are sent again with each load", slog.Any("error", err))
		o.Cache = ""
	}
	o.Memory = model.AvailableMemory()
	return compute.Start(o, log)
}

// runWorker serves hosts until a signal ends it.
func runWorker(cmd *cobra.Command, f workerFlags) error {
	for _, name := range []string{"tls-cert", "tls-key", "tls-ca"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return usageError{fmt.Errorf("--%s is empty, and this worker would do without TLS; name a PEM file, or leave out --tls-cert, --tls-key and --tls-ca", name)}
		}
	}
	address, err := config.ParseAddress(f.listen)
	if err != nil || address.Socket != "" {
		return usageError{fmt.Errorf("--listen is %q; it must be HOST:PORT", f.listen)}
	}
	if err := f.security.Check(f.listen); err != nil {
		return usageError{err}
	}
	if !slices.Contains([]native.KernelChoice{native.ChoosePenstock, native.ChooseAMX, native.ChooseGGML, native.ChoosePlain}, native.KernelChoice(f.kernels)) {
		return usageError{fmt.Errorf("--kernels is %q; it can be penstock, amx, ggml or plain", f.kernels)}
	}
	log := telemetry.NewLogger(cmd.ErrOrStderr(), telemetry.Level("info"), "text")
	cache := &compute.Cache{}
	if folder := model.DefaultCache(); folder != "" && !f.noCache {
		cache.Folder = filepath.Join(folder, "tensors")
	}
	kernels, broken, err := model.SoundKernels(cmd.Context(), native.KernelChoice(f.kernels))
	if err != nil {
		return err
	}
	for _, b := range broken {
		log.Warn("a kernel of the CPU is broken and not used", slog.Any("kernel", b.Kernel), slog.String("because", b.Reason))
	}
	options := compute.Options{Devices: f.devices, Threads: f.threads, Cache: cache.Folder, Kernels: kernels}
	devices, err := compute.Probe(options, log) // which this process does not: drivers take memory for each that does
	if err != nil {
		return err
	}
	for _, d := range devices {
		log.Info("device", slog.String("name", d.Name), slog.String("description", d.Description))
	}
	server := &remote.Server{Llama: native.Version(), Log: log, Start: func() (remote.Child, error) { return startConnection(options, cache, log) }}
	if f.security.Encrypted() {
		if server.TLS, err = remote.MutualTLS(f.security.TLSCert, f.security.TLSKey, f.security.TLSCA); err != nil {
			return err
		}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	listener, err := host.Listen(ctx, address, false)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; end what uses it, or choose another address with --listen", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), listener.Addr())
	return server.Serve(ctx, listener)
}

// healthTimeout is how long a server may take to say that it is ready.
const healthTimeout = 10 * time.Second

func newHealth() *cobra.Command {
	return &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a running server whether it takes requests",
		Long: `Ask a running server whether it takes requests, as the health check of a container does.

The URL is http://127.0.0.1:8080 unless it is given. The exit code is 0 where the server takes requests, and 1 where it does not.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := "http://127.0.0.1:8080"
			if len(args) > 0 {
				url = args[0]
			}
			return checkHealth(cmd.Context(), cmd.OutOrStdout(), url)
		},
	}
}

func checkHealth(ctx context.Context, out io.Writer, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/readyz", nil)
	if err != nil {
		return usageError{err}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no server answers: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s: %s", url, answer.Status, strings.TrimSpace(string(text)))
	}
	_, err = fmt.Fprintln(out, strings.TrimSpace(string(text)))
	return err
}
