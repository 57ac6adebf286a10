// SPDX-License-Identifier: MIT

package host

import (
	"context"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/telemetry"
)

// setUpAccess reads the keys, and prepares what is reported of requests.
func (h *Host) setUpAccess(ctx context.Context, version string) (err error) {
	s := h.config.Server
	clients := make([]access.Secret, len(s.APIKeys))
	for i, key := range s.APIKeys {
		clients[i] = access.Secret{Key: key}
	}
	load := func() (access.Keys, error) {
		if s.APIKeyFile == "" {
			return access.NewKeys(clients, s.AdminKey, s.PriorityKeys), nil
		}
		more, err := access.ReadKeyFile(s.APIKeyFile)
		return access.NewKeys(append(clients[:len(clients):len(clients)], more...), s.AdminKey, s.PriorityKeys), err
	}
	var files []string
	if s.APIKeyFile != "" {
		files = append(files, s.APIKeyFile)
	}
	keys, err := newReloaded(h.log, load, files...)
	if err != nil {
		return err
	}
	h.keys = keys.Get
	h.metrics = telemetry.NewServer(version)
	h.traces, err = telemetry.NewTraces(ctx, h.config.Telemetry.OTLPEndpoint, version, h.log)
	return err
}
