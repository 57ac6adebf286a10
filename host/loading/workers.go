// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/native"
)

// hostID is what workers know this process by.
var hostID = sync.OnceValue(rand.Text)

// workers are sessions with the workers that compute one model.
type workers struct {
	sessions []*remote.Session
	open     []*native.Remote // what ggml knows of them
	names    []string         // of all their devices
	room     []uint64         // bytes of memory that each had free when its session began; 0 where unknown
}

// hostFor is this process as workers see it.
func hostFor(c config.Workers) (h remote.Host, err error) {
	h = remote.Host{Llama: native.Version(), ID: hostID()}
	h.Name, _ = os.Hostname() // for people
	if c.Encrypted() {
		h.TLS, err = remote.MutualTLS(c.TLSCert, c.TLSKey, c.TLSCA)
	}
	return h, err
}

func openSession(ctx context.Context, h remote.Host, c config.Workers, address string) (*remote.Session, error) {
	if err := c.Check(address); err != nil {
		return nil, err
	}
	return h.Open(ctx, address)
}

// WorkerDevices asks a worker what it has.
func WorkerDevices(ctx context.Context, c config.Workers, address string) ([]remote.Device, error) {
	h, err := hostFor(c)
	if err != nil {
		return nil, err
	}
	s, err := openSession(ctx, h, c, address)
	if err != nil {
		return nil, err
	}
	return s.Devices(), s.Close()
}

// openWorkers begins sessions with the configured workers; nil: there are none.
func (l *loader) openWorkers(ctx context.Context) (*remoteModel, error) {
	if len(l.config.Workers.RPC) == 0 {
		return nil, nil
	}
	w, err := openSessions(ctx, l.config.Workers, l.config.Workers.RPC)
	if err != nil {
		return nil, err
	}
	remote := &remoteModel{workers: w, log: l.log}
	l.opened.add(remote.Close)
	return remote, nil
}

// openSessions begins sessions with workers. Their devices are RPC0, RPC1 and so on from then on.
func openSessions(ctx context.Context, c config.Workers, addresses []string) (_ *workers, err error) {
	w := &workers{}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	h, err := hostFor(c)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		s, err := openSession(ctx, h, c, address)
		if err != nil {
			return nil, err
		}
		w.sessions = append(w.sessions, s)
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

// reachable are those of the configured workers that can be reached.
func reachable(ctx context.Context, c config.Workers) (addresses []string) {
	for _, address := range c.RPC {
		if w, err := openSessions(ctx, c, []string{address}); err == nil {
			w.Close()
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// Close ends the sessions. What was loaded on the devices must have been freed.
func (w *workers) Close() {
	for _, r := range w.open {
		r.Close()
	}
	for _, s := range w.sessions {
		_ = s.Close()
	}
}

// lost tells which worker was lost and why; nil: none was.
func (w *workers) lost() error {
	for _, s := range w.sessions {
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
	for _, s := range w.sessions {
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
	return w.lost()
}

// log tells what computes the model beside this machine.
func (w *workers) log(log *slog.Logger) {
	for _, text := range w.describe() {
		log.Info("worker", slog.String("device", text))
	}
}

// describe has a line for each device.
func (w *workers) describe() (lines []string) {
	for _, s := range w.sessions {
		for _, d := range s.Devices() {
			lines = append(lines, fmt.Sprintf("%s: %s of %s (%s), %.1f GiB free of %.1f GiB", w.names[len(lines)], d.Name, s.Worker(), d.Description,
				float64(d.Free)/(1<<30), float64(d.Total)/(1<<30)))
		}
	}
	return lines
}
