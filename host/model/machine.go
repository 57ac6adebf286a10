// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"time"

	"github.com/penstock/penstock/native"
)

// Machine is what llama.cpp finds to compute on.
type Machine struct {
	System  string          `json:"system"` // features of the processor that it was built to use
	Devices []native.Device `json:"devices"`
}

// Survey asks llama.cpp what it finds to compute on. It asks in a child process: if the driver of
// a GPU crashes, only the child ends.
func Survey(ctx context.Context) (Machine, error) {
	a, err := askOnce(ctx, request{Task: surveyTask, Timeout: time.Minute})
	return a.Machine, err
}

func survey() (m Machine, err error) {
	if m.System, err = native.SystemInfo(); err != nil {
		return m, err
	}
	m.Devices, err = native.Devices()
	return m, err
}

// gpus are the devices that layers can be put on.
func (m Machine) gpus() (names []string) {
	for _, d := range m.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			names = append(names, d.Name+" "+d.Description)
		}
	}
	return names
}
