// SPDX-License-Identifier: MIT

package hosts

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/native"
)

// Worker is a worker that can be killed and started again at its address.
type Worker struct {
	t       *testing.T
	Address string

	mu     sync.Mutex
	conns  []net.Conn
	cancel context.CancelFunc
	ended  chan error
}

// trackedListener knows the connections of a worker.
type trackedListener struct {
	net.Listener
	of *Worker
}

func (l trackedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.of.mu.Lock()
		l.of.conns = append(l.of.conns, conn)
		l.of.mu.Unlock()
	}
	return conn, err
}

// StartWorker starts a worker, which ends with the test.
func StartWorker(t *testing.T) *Worker {
	w := &Worker{t: t, Address: "127.0.0.1:0"}
	w.Start()
	t.Cleanup(w.Kill)
	return w
}

// Start starts a worker that was killed.
func (w *Worker) Start() {
	listener, err := net.Listen("tcp", w.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	server := &remote.Server{Llama: native.Version(), Log: slog.New(slog.DiscardHandler), Start: func() (remote.Child, error) {
		return compute.Start(compute.Options{Threads: 1, Kernels: native.ChooseGGML.Without()}, slog.New(slog.DiscardHandler))
	}}
	go func() { w.ended <- server.Serve(ctx, trackedListener{listener, w}) }()
}

// Kill ends the worker without a word to its host.
func (w *Worker) Kill() {
	w.mu.Lock()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
	w.mu.Unlock()
	w.cancel()
	if w.ended != nil {
		if err := <-w.ended; err != nil {
			w.t.Error(err)
		}
		w.ended = nil
	}
}
