// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/cgroup"
)

// The states of a finding.
const (
	stateOK   = "ok"
	stateWarn = "warn" // it works, though not as well as it could
	stateFail = "fail" // it will not work
)

// finding is one line of the doctor's report.
type finding struct {
	State  string `json:"state"`
	Topic  string `json:"topic"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"` // what to do; empty where the state is ok
}

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine offers and what is wrong with the set-up",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := report{findings: []finding{}}
			if !asJSON {
				r.out = cmd.OutOrStdout()
			}
			examine(cmd, &r)
			if asJSON {
				r.err = printJSON(cmd, r.findings)
			}
			if r.err == nil && slices.ContainsFunc(r.findings, func(f finding) bool { return f.State == stateFail }) {
				return errReported
			}
			return r.err
		},
	}
	addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// report collects findings. If it has an out, it prints each at once, so that a crash hides
// nothing that was found before.
type report struct {
	out      io.Writer
	findings []finding
	err      error // of printing
}

func (r *report) add(findings ...finding) {
	r.findings = append(r.findings, findings...)
	if r.out != nil && r.err == nil {
		r.err = printFindings(r.out, findings)
	}
}

func printFindings(out io.Writer, findings []finding) error {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%-4s  %-10s  %s\n", f.State, f.Topic, f.Detail)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%18s→ %s\n", "", f.Remedy)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// examine runs all checks. If the configuration is broken, the checks that need one use the
// defaults.
func examine(cmd *cobra.Command, r *report) {
	cfg, err := loadConfig(cmd)
	r.add(configFindings(err)...)
	if err != nil {
		cfg, err = config.Load(config.Sources{})
		if err != nil { // the working folder's own file is broken
			return
		}
	}
	runChecks(cmd.Context(), cfg, r)
}

func runChecks(ctx context.Context, cfg config.Config, r *report) {
	r.add(processorFinding(cfg.Model.Threads))
	r.add(optionsFinding(cfg))
	level, _ := native.Level()
	r.add(levelFindings(level)...)
	r.add(deviceFindings(model.Survey(ctx))...)
	r.add(workerFindings(ctx, cfg.Workers)...)
	r.add(folderFindings(library.Open(cfg.Models.Dir))...)
	r.add(listenFinding(ctx, cfg.Server))
	r.add(accessFindings(cfg)...)
	r.add(policyFindings(ctx, cfg)...)
	r.add(receiptFindings(cfg.Receipts)...)
	r.add(toolFinding())
	r.add(modelFindings(ctx, cfg)...)
}

// optionsFinding says which of llama.cpp's options differ from the defaults.
func optionsFinding(cfg config.Config) finding {
	if changed := cfg.Changed(); len(changed) > 0 {
		return finding{stateOK, "options", "llama.cpp's that differ from the defaults: " + strings.Join(changed, ", "), ""}
	}
	return finding{stateOK, "options", "llama.cpp's are all as by default", ""}
}

func configFindings(err error) []finding {
	if err == nil {
		return []finding{{stateOK, "config", "valid", ""}}
	}
	var findings []finding
	for problem := range strings.SplitSeq(err.Error(), "\n") {
		findings = append(findings, finding{stateFail, "config", problem, "correct it where it was set; penstock config print shows where values come from"})
	}
	return findings
}

// processorFinding describes the processor, and reports whether the number of threads suits it.
func processorFinding(threads int) finding {
	cores := native.PhysicalCores()
	detail := fmt.Sprintf("%s/%s, %d physical cores usable", runtime.GOOS, runtime.GOARCH, cores)
	allowed := float64(runtime.NumCPU())
	if quota := cgroup.Processors(); quota < allowed {
		allowed = quota
		detail += fmt.Sprintf(", processor time of %.3g by the limit of a control group", quota)
	}
	if float64(threads) > allowed {
		return finding{stateWarn, "cpu", fmt.Sprintf("%s, but model.threads is %d", detail, threads),
			"more threads than there is processor time for wait for each other; leave model.threads at 0"}
	}
	return finding{stateOK, "cpu", detail, ""}
}

// levelFindings says for which level of CPUs the kernels are, if this build has several.
func levelFindings(level native.LevelChoice) []finding {
	if level.Used == "" {
		return nil
	}
	best := level.Offered[len(level.Offered)-1]
	detail := fmt.Sprintf("%s; this CPU has %s", level.Used, strings.Join(level.Offered, ", "))
	switch {
	case len(level.Failed) > 0:
		return []finding{{stateWarn, "level", detail + ", but " + strings.Join(level.Failed, ", ") + " failed a trial",
			"see which features the hypervisor or emulator of this machine offers without having them"}}
	case level.Used != best:
		return []finding{{stateWarn, "level", detail, "unset " + native.LevelVariable + ", which forces a lower one than the best"}}
	}
	return []finding{{stateOK, "level", detail, ""}}
}

// deviceFindings lists the devices on which llama.cpp can compute, with their memory.
func deviceFindings(m model.Machine, err error) []finding {
	_, backend := native.Build()
	findings := []finding{{stateOK, "backend", fmt.Sprintf("%s, llama.cpp %s, %s", backend, native.Version(), kernelsText(native.HasOwnKernels())), ""}}
	if err != nil {
		return append(findings, finding{stateFail, "device", err.Error(), "fix the GPU's driver, or build with BACKEND=cpu make build"})
	}
	findings = append(findings, finding{stateOK, "features", strings.TrimSpace(m.System), ""})
	gpus := 0
	for _, d := range m.Devices {
		if d.Kind != "cpu" {
			gpus++
		}
		findings = append(findings, finding{stateOK, "device",
			fmt.Sprintf("%s (%s), %s free of %s", d.Name, d.Description, formatBytes(d.Free), formatBytes(d.Total)), ""})
	}
	if backend != "cpu" && gpus == 0 {
		findings = append(findings, finding{stateWarn, "device", "built for " + backend + ", but no GPU was found",
			"check the driver and that this user may open the device"})
	}
	return findings
}

// workerFindings lists the devices of the workers that would compute.
func workerFindings(ctx context.Context, c config.Workers) (findings []finding) {
	for _, address := range c.RPC {
		devices, err := loading.WorkerDevices(ctx, c, address)
		if err != nil {
			findings = append(findings, finding{stateFail, "worker", err.Error(), "start penstock worker there, with the same release and certificates of the same authority"})
		}
		for _, d := range devices {
			findings = append(findings, finding{stateOK, "worker",
				fmt.Sprintf("%s of %s (%s), %s free of %s", d.Name, address, d.Description, formatBytes(d.Free), formatBytes(d.Total)), ""})
		}
	}
	return findings
}

// folderFindings checks the cache folder and the model folder. Neither needs to exist yet.
func folderFindings(models *library.Library) []finding {
	names := models.Names()
	return []finding{
		cacheFinding(model.DefaultCache()),
		{stateOK, "models", fmt.Sprintf("%d in %s", len(names), models.Folder), ""},
	}
}

// cacheFinding checks that the cache folder belongs to this user alone, since its content is
// trusted.
func cacheFinding(dir string) finding {
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return finding{stateWarn, "cache", "this user has no cache folder", "set HOME or XDG_CACHE_HOME"}
	case errors.Is(err, fs.ErrNotExist):
		return finding{stateOK, "cache", dir + " (made when it is needed)", ""}
	case err != nil:
		return finding{stateWarn, "cache", err.Error(), "make the folder readable, or name another with XDG_CACHE_HOME"}
	case !info.IsDir():
		return finding{stateWarn, "cache", dir + " is not a folder", "remove it, or name another place with XDG_CACHE_HOME"}
	case info.Mode().Perm()&0o022 != 0:
		return finding{stateWarn, "cache", dir + " can be written by others", "chmod 700 " + dir}
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return finding{stateWarn, "cache", err.Error(), "make the folder writable, or name another with XDG_CACHE_HOME"}
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return finding{stateWarn, "cache", err.Error(), "make " + filepath.Dir(probe.Name()) + " writable"}
	}
	return finding{stateOK, "cache", dir, ""}
}

// listenFinding reports whether the server could listen on the address.
func listenFinding(ctx context.Context, s config.Server) finding {
	address := s.Listen.String()
	listener, err := (&net.ListenConfig{}).Listen(ctx, s.Listen.Network(), address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return finding{stateWarn, "listen", address + " is in use, perhaps by another penstock",
			"end what uses it, or choose another address with --listen"}
	}
	if err != nil {
		return finding{stateFail, "listen", err.Error(), "choose an address of this machine with --listen"}
	}
	_ = listener.Close()
	return finding{stateOK, "listen", address + " is free", ""}
}

// accessFindings says what is unsafe, and whether the certificate can be used.
func accessFindings(cfg config.Config) []finding {
	var findings []finding
	for _, risk := range cfg.Risks() {
		findings = append(findings, finding{stateWarn, "access", risk.What, risk.Remedy})
	}
	if s := cfg.Server; s.SSLCertFile != "" {
		findings = append(findings, certificateFinding(s.SSLCertFile, s.SSLKeyFile, time.Now()))
	}
	if len(findings) == 0 {
		findings = append(findings, finding{stateOK, "access", "nothing unsafe is configured", ""})
	}
	return findings
}

// policyFindings says which plugins the operator attaches to requests.
func policyFindings(ctx context.Context, cfg config.Config) (findings []finding) {
	all, err := readAttachedPlugins(ctx, cfg.Plugins)
	if err != nil {
		return []finding{{stateFail, "policies", err.Error(), "correct the settings, or install the plugin; a server that runs keeps the policies that it has read before, and none starts with these"}}
	}
	for i := range all {
		findings = append(findings, finding{stateOK, "policies", all[i].String(), ""})
	}
	return findings
}

// receiptFindings says whether the key of receipts can be used, and whether others can read it.
func receiptFindings(c config.Receipts) []finding {
	if c.KeyFile == "" {
		return nil
	}
	key, err := receipt.ReadKey(c.KeyFile)
	if err != nil {
		return []finding{{stateFail, "receipts", "receipts.key_file: " + err.Error(), "make a key with penstock receipt key FILE, and name it with --receipt-key-file"}}
	}
	detail := c.KeyFile + " signs as " + key.ID()
	if info, err := os.Stat(c.KeyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		return []finding{{stateWarn, "receipts", detail + ", and every user of this machine may read or change it", "chmod 600 " + c.KeyFile}}
	}
	return []finding{{stateOK, "receipts", detail, ""}}
}

// readAttachedPlugins returns the plugins that the operator attaches to requests. Each is in the
// folder and accepts its configuration. Models and keys are not checked: only the server knows
// them.
func readAttachedPlugins(ctx context.Context, c config.Plugins) ([]policy.Attached, error) {
	if len(c.Default) == 0 && c.PolicyFile == "" {
		return nil, nil
	}
	loader, plugins, err := openFolder(ctx, c)
	if err != nil {
		return nil, err
	}
	all, err := policy.Read(c.Default, c.PolicyFile, policy.Known{Registry: plugins})
	return all, errors.Join(err, plugins.Close(), loader.Close(context.WithoutCancel(ctx)))
}

// certificateFinding tells whether a certificate can be used now, and for how long.
func certificateFinding(certificate, key string, now time.Time) finding {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return finding{stateFail, "tls", err.Error(), "name a PEM certificate with --ssl-cert-file and its key with --ssl-key-file"}
	}
	left := pair.Leaf.NotAfter.Sub(now)
	detail := fmt.Sprintf("%s is valid until %s", certificate, pair.Leaf.NotAfter.Format(time.DateOnly))
	switch {
	case left < 0 || now.Before(pair.Leaf.NotBefore):
		return finding{stateFail, "tls", fmt.Sprintf("%s is valid from %s to %s, not now", certificate,
			pair.Leaf.NotBefore.Format(time.DateOnly), pair.Leaf.NotAfter.Format(time.DateOnly)), "renew it; a running server reads it again"}
	case left < 14*24*time.Hour:
		return finding{stateWarn, "tls", detail, "renew it; a running server reads it again"}
	}
	return finding{stateOK, "tls", detail, ""}
}

// toolFinding looks for the tools that building from source needs; running needs none of them.
func toolFinding() finding {
	var missing []string
	for _, tool := range []string{"git", "c++", "cmake", "ninja", "go", "npm", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) > 0 {
		return finding{stateWarn, "tools", "not on PATH, and needed to build from source: " + strings.Join(missing, ", "),
			"run make setup in the source tree; running needs none of them"}
	}
	return finding{stateOK, "tools", "all that building from source needs is there", ""}
}

// modelFindings loads the configured model, has it answer one token and says which kernels
// computed it.
func modelFindings(ctx context.Context, cfg config.Config) []finding {
	begin := time.Now()
	m, err := openAlone(ctx, cfg)
	if err != nil {
		remedy := "name another file with --model, or none to use the built-in model"
		if cfg.Model.MMProj != "" && strings.Contains(err.Error(), "model.mmproj") {
			remedy = "leave out --mmproj, or name the projector that was made for this model"
		}
		return []finding{{stateFail, "model", err.Error(), remedy}}
	}
	kernels := kernelFindings(m.Info().Compute.Kernels)
	return append(kernels, projectorFinding(m.Info()), answerFinding(ctx, m, begin))
}

// projectorFinding says what the model takes besides text.
func projectorFinding(m serving.Info) finding {
	reads := "pictures and sounds"
	switch {
	case m.Projector.Unused != "":
		return finding{stateWarn, "media", fmt.Sprintf("the projector %s is not used, so the model takes text only: %s", m.Projector.Path, m.Projector.Unused),
			"remove it, get the one that was made for this model, or start with --no-mmproj"}
	case m.Projector.Path == "":
		return finding{stateOK, "media", "the model takes text only; for pictures and sounds name its projector with --mmproj", ""}
	case m.Media.AudioRate == 0:
		reads = "pictures"
	case !m.Media.Images:
		reads = "sounds"
	}
	return finding{stateOK, "media", fmt.Sprintf("the model takes %s with %s (%s)", reads, m.Projector.Path, m.Projector.Kinds), ""}
}

// kernelFindings says which kernels compute and which are broken.
func kernelFindings(k serving.Kernels) []finding {
	findings := []finding{{stateOK, "kernels", k.String(), ""}}
	if k.NoGPU != "" {
		findings = append(findings, finding{stateWarn, "gpu", "it is not used: " + k.NoGPU,
			"fix its driver, or try fewer --gpu-layers; with 0 the CPU computes all, as now"})
	}
	for _, off := range k.Off {
		findings = append(findings, finding{stateWarn, "kernels", fmt.Sprintf("%s is broken: %s", off.Kernel, off.Reason),
			"another computes instead; build anew on this machine with make llama build, and report it if that does not help"})
	}
	return findings
}

// answerFinding has a model, which was opened at begin, answer one token, and closes it.
func answerFinding(ctx context.Context, m *local.Model, begin time.Time) finding {
	loaded := time.Since(begin)
	_, err := m.Chat(ctx, []local.Message{local.User("Hello")}, local.Temperature(0), local.MaxTokens(1))
	info := m.Info()
	if err = errors.Join(err, m.Close()); err != nil {
		return finding{stateFail, "model", fmt.Sprintf("%s loads, but does not answer: %v", info.Name, err), "try another file with --model"}
	}
	detail := fmt.Sprintf("%s answers; loaded in %v, %.1fM parameters, %d tokens a conversation",
		info.Name, loaded.Round(time.Millisecond), float64(info.Weights.Parameters)/1e6, info.Context)
	if info.Template.Assumed {
		return finding{stateWarn, "model", detail + ", no chat template", "chat may not work; use completions, or penstock run --raw"}
	}
	return finding{stateOK, "model", detail, ""}
}
