// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native"
)

func TestSurvey_ListsTheCPU(t *testing.T) {
	m, err := Survey(t.Context())
	if err != nil || !strings.Contains(m.System, "CPU") ||
		!slices.ContainsFunc(m.Devices, func(d native.Device) bool { return d.Kind == "cpu" && d.Total > 0 }) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSurvey_DriverFaults_IsErrGPU(t *testing.T) {
	t.Setenv(misbehaviourEnv, "segfault")
	if m, err := Survey(t.Context()); !errors.Is(err, ErrGPU) || !strings.Contains(err.Error(), "invalid memory address") {
		t.Errorf("got %+v, %v", m, err)
	}
}
