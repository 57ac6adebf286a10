// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/native"
)

// hostID is what workers know this process by.
var hostID = sync.OnceValue(rand.Text)

// workers are connections with the workers that compute one model.
type workers struct {
	connections []*remote.Connection
	open        []*native.Remote // what ggml knows of them
	names       []string         // of all their devices
	room        []uint64         // bytes of memory that each had free when its connection began; 0 where unknown
}

// dialerFor is this process as workers see it.
func dialerFor(c config.Workers) (h remote.Dialer, err error) {
	h = remote.Dialer{Llama: native.Version(), ID: hostID()}
	h.Name, _ = os.Hostname() // for people
	if c.Encrypted() {
		h.TLS, err = remote.MutualTLS(c.TLSCert, c.TLSKey, c.TLSCA)
	}
	return h, err
}

func connect(ctx context.Context, h remote.Dialer, c config.Workers, address string) (*remote.Connection, error) {
	if err := c.Check(address); err != nil {
		return nil, err
	}
	return h.Open(ctx, address)
}

// WorkerDevices asks a worker what it has.
func WorkerDevices(ctx context.Context, c config.Workers, address string) ([]remote.Device, error) {
	h, err := dialerFor(c)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, h, c, address)
	if err != nil {
		return nil, err
	}
	return s.Devices(), s.Close()
}

// remoteModel is what workers compute of a model.
type remoteModel struct {
	workers *workers
	config  config.Config
	wished  engine.Options // before it was decided what workers compute
	log     *slog.Logger
	down    atomic.Bool // a worker is lost
}

// placeLayers decides what the workers compute, and keeps what was wished for the next time.
func (r *remoteModel) placeLayers(ctx context.Context, c config.Config, wished engine.Options, memory uint64) (engine.Options, error) {
	r.config, r.wished = c, wished
	r.workers.log(r.log)
	return r.workers.placeLayers(ctx, c, wished, memory)
}

// Close ends the connections. The model must have been freed.
func (r *remoteModel) Close() error {
	r.workers.Close()
	return nil
}

// openWorkers connects with the configured workers; nil: there are none.
func (l *loader) openWorkers(ctx context.Context) (*remoteModel, error) {
	if len(l.config.Workers.RPC) == 0 {
		return nil, nil
	}
	w, err := connectAll(ctx, l.config.Workers, l.config.Workers.RPC)
	if err != nil {
		return nil, err
	}
	remote := &remoteModel{workers: w, log: l.log}
	l.opened = append(l.opened, remote.Close)
	return remote, nil
}

// connectAll connects with workers. Their devices are RPC0, RPC1 and so on from then on.
func connectAll(ctx context.Context, c config.Workers, addresses []string) (_ *workers, err error) {
	w := &workers{}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	h, err := dialerFor(c)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		s, err := connect(ctx, h, c, address)
		if err != nil {
			return nil, err
		}
		w.connections = append(w.connections, s)
		var names []string
		for _, d := range s.Devices() {
			names = append(names, fmt.Sprintf("RPC%d", len(w.names)+len(names)))
			w.room = append(w.room, d.Free)
		}
		devices, err := native.OpenRemote(s.Socket(), names)
		if err != nil {
			return nil, errors.Join(s.Err(), err)
		}
		w.open, w.names = append(w.open, devices), append(w.names, names...)
	}
	return w, nil
}

// findReachable lists the configured workers that can be reached.
func findReachable(ctx context.Context, c config.Workers) (addresses []string) {
	for _, address := range c.RPC {
		if w, err := connectAll(ctx, c, []string{address}); err == nil {
			w.Close()
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// Close ends the connections. What was loaded on the devices must have been freed.
func (w *workers) Close() {
	for _, r := range w.open {
		r.Close()
	}
	for _, s := range w.connections {
		_ = s.Close()
	}
}

// Lost tells which worker was lost and why; nil: none was.
func (w *workers) Lost() error {
	for _, s := range w.connections {
		if err := s.Err(); err != nil {
			return err
		}
	}
	return nil
}

// awaitLoss waits until a worker is lost, or ctx is done.
func (w *workers) awaitLoss(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, s := range w.connections {
		all.Go(func() {
			select {
			case <-s.Lost():
				cancel()
			case <-ctx.Done():
			}
		})
	}
	<-ctx.Done()
	cancel()
	all.Wait()
	return w.Lost()
}

// log tells what computes the model beside this machine.
func (w *workers) log(log *slog.Logger) {
	for _, text := range w.describe() {
		log.Info("worker", slog.String("device", text))
	}
}

// describe has a line for each device.
func (w *workers) describe() (lines []string) {
	for _, s := range w.connections {
		for _, d := range s.Devices() {
			lines = append(lines, fmt.Sprintf("%s: %s of %s (%s), %.1f GiB free of %.1f GiB", w.names[len(lines)], d.Name, s.Worker(), d.Description,
				float64(d.Free)/(1<<30), float64(d.Total)/(1<<30)))
		}
	}
	return lines
}

// devices are the names of the workers' devices and this machine's GPUs, in ggml's order, and how
// much memory each has free.
func (w *workers) devices() (names []string, room map[string]uint64, err error) {
	names, room = slices.Clone(w.names), map[string]uint64{}
	for i, name := range names {
		room[name] = w.room[i]
	}
	local, err := native.Devices()
	for _, d := range local {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			names, room[d.Name] = append(names, d.Name), d.Free
		}
	}
	return names, room, err
}

// placeLayers decides what the workers compute: without another word all layers go to the devices
// of the workers and this machine's GPUs, by the memory that they have free, or as many as fit, and
// the rest stays with this machine's CPU.
func (w *workers) placeLayers(ctx context.Context, c config.Config, o engine.Options, memory uint64) (engine.Options, error) {
	local := o
	local.Model, local.GPULayers, local.Workers = withoutGPU(o.Model), 0, nil
	o.Workers = w
	if len(w.connections) < len(c.Workers.RPC) { // what was said of the devices holds for all of them together
		o.Model.Devices, o.Model.TensorSplit = nil, nil
	}
	names, room, err := w.devices()
	if err != nil {
		return o, err
	}
	if len(o.Model.Devices) == 0 {
		o.Model.Devices = names
	}
	if len(o.Model.Devices) == 0 {
		o.Model.Devices = []string{"none"} // no worker is left
	}
	if o.GPULayers >= 0 || c.Model.Fit == "off" || len(o.Model.TensorSplit) > 0 {
		return o, nil
	}
	layers := 0
	need, err := askDryRun(ctx, c, local, func(dry *dryRun) (model.Need, error) {
		info := dry.alone.Info()
		layers = info.Layers + 1 // with that of the output
		return dry.alone.Need(ctx, local.ContextOptions(info))
	})
	if err != nil {
		return o, err
	}
	var free uint64
	for _, name := range o.Model.Devices {
		free += room[name]
	}
	o.GPULayers, err = shareOfLayers(need.Main().Used(), free/10*9, memory, layers)
	if err != nil {
		return o, fmt.Errorf("%w; the workers: %s", err, cmp.Or(strings.Join(w.describe(), ", "), "none"))
	}
	if mode := o.Model.SplitMode; mode == "" || mode == "layer" {
		o.Model.TensorSplit = shares(o.Model.Devices, room)
	}
	return o, nil
}

// shares are how much of the model each device gets, by its room: ggml's server does not know of
// limits that its process has. Nil has llama.cpp ask it, where not all is known.
func shares(devices []string, room map[string]uint64) []float32 {
	out := make([]float32, len(devices))
	for i, name := range devices {
		if room[name] == 0 {
			return nil
		}
		out[i] = float32(room[name]) / (1 << 20)
	}
	return out
}

// shareOfLayers is how many layers go to devices with so much free memory; -1: all. memory is this
// machine's, 0 where unknown.
func shareOfLayers(need, free, memory uint64, layers int) (int, error) {
	if need <= free {
		return -1, nil
	}
	n := int(float64(layers) * float64(free) / float64(need))
	if left := need - need/uint64(layers)*uint64(n); memory > 0 && left > memory {
		return 0, fmt.Errorf("%w: it takes %.1f GiB; other devices have room for %d of its %d layers, and the rest takes %.1f GiB of this machine's memory, which has %.1f GiB",
			model.ErrTooLarge, float64(need)/(1<<30), n, layers, float64(left)/(1<<30), float64(memory)/(1<<30))
	}
	return n, nil
}

const (
	reviveEvery = 500 * time.Millisecond // a lost worker is asked for
	patience    = 10 * time.Second       // after which the model is served without it, where it fits
)

// keepComputing has a model served on after a worker was lost: its answers end, what is left of it
// is freed, and it is loaded again when the worker is back, or without it. It returns when ctx is
// done.
func (c *Core) keepComputing(ctx context.Context) {
	r := c.remote
	for {
		reason := r.workers.awaitLoss(ctx)
		if ctx.Err() != nil {
			return
		}
		r.log.Error("a worker was lost: its model is loaded again when it is back", slog.String("model", c.Model.Name), slog.Any("error", reason))
		r.down.Store(true)
		c.Scheduler.Lose(engine.AsLost(reason))
		if err := c.Engine.Release(); err != nil {
			r.log.Warn("a model was not freed as it should", slog.Any("error", err))
		}
		r.workers.Close()
		begin := time.Now()
		if !c.revive(ctx, begin) {
			return
		}
		r.down.Store(false)
		c.Scheduler.Revive()
		r.log.Info("the model answers again", slog.String("model", c.Model.Name), slog.Duration("after", time.Since(begin).Round(time.Millisecond)))
	}
}

// revive loads the model again as soon as that is possible. It reports false when ctx is done.
func (c *Core) revive(ctx context.Context, begin time.Time) bool {
	said := ""
	for ctx.Err() == nil {
		err := c.remote.reload(ctx, c.Engine, time.Since(begin) > patience)
		if err == nil {
			return true
		}
		if text := err.Error(); text != said && ctx.Err() == nil {
			said = text
			c.remote.log.Warn("the model is not back yet", slog.String("model", c.Model.Name), slog.Any("error", err))
		}
		select {
		case <-time.After(reviveEvery):
		case <-ctx.Done():
		}
	}
	return false
}

// reload loads the model with its workers, or with those that can be reached.
func (r *remoteModel) reload(ctx context.Context, e *engine.Engine, incomplete bool) error {
	addresses := r.config.Workers.RPC
	if incomplete {
		addresses = findReachable(ctx, r.config.Workers)
	}
	w, err := connectAll(ctx, r.config.Workers, addresses)
	if err != nil {
		return err
	}
	o, err := w.placeLayers(ctx, r.config, r.wished, model.AvailableMemory())
	if err == nil {
		err = e.Restore(ctx, o.ModelOptions(), w)
	}
	if err != nil {
		err = cmp.Or(w.Lost(), err) // which then is why
		w.Close()
		return err
	}
	r.workers = w
	w.log(r.log)
	return nil
}
