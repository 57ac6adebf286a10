// SPDX-License-Identifier: MIT

package compute

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/native"
)

// socketFile is the number of the socket in the process of a connection: the first after the three
// standard ones.
const socketFile = 3

// Child returns the command by which this program becomes the process of a connection, and what
// carries it out and returns the exit code. A program that calls Start has the command.
func Child() (command string, run func(args []string) int) { return childCommand, runChild }

func runChild(args []string) int {
	err := fmt.Errorf("%s has %q; it is what Penstock starts itself with", childCommand, args)
	if len(args) == 1 {
		err = serve(args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve tells the parent of the devices and lets ggml compute with them until the parent closes
// the socket.
func serve(text string) error {
	var o Options
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("the options of %s: %w", childCommand, err)
	}
	native.UseKernels(o.Kernels)
	native.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	devices, err := chosen(o.Devices)
	if err != nil {
		return err
	}
	limit(devices, o.Memory)
	line, err := json.Marshal(devices)
	if err != nil {
		return err
	}
	socket := os.NewFile(socketFile, "socket")
	if _, err := socket.Write(append(line, '\n')); err != nil {
		return err
	}
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.Name
	}
	threads := o.Threads
	if threads == 0 {
		threads = native.PhysicalCores()
	}
	return native.ServeDevices(socket.Fd(), names, threads, o.Cache)
}

// limit has devices that use this machine's main memory offer no more of it than this process may
// take: ggml knows of no limits.
func limit(devices []remote.Device, memory uint64) {
	for i := range devices {
		if d := &devices[i]; d.Kind == "cpu" && memory > 0 && memory < d.Free {
			d.Free = memory
		}
	}
}

// chosen finds the devices of this machine by name. Without names they are all GPUs, or where
// there is none the CPU.
func chosen(names []string) ([]remote.Device, error) {
	all, err := native.Devices()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, d := range all {
			if d.Kind == "gpu" || d.Kind == "igpu" {
				names = append(names, d.Name)
			}
		}
	}
	var found []remote.Device
	for _, d := range all {
		if slices.Contains(names, d.Name) || len(names) == 0 && d.Kind == "cpu" {
			found = append(found, remote.Device{Name: d.Name, Description: d.Description, Backend: d.Backend, Kind: d.Kind, Free: d.Free, Total: d.Total})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(d remote.Device) bool { return d.Name == name }) {
			return nil, fmt.Errorf("--device names %q, which is no device of this machine; penstock doctor lists them", name)
		}
	}
	return found, nil
}
