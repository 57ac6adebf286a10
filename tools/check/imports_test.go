// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckPackage(t *testing.T) {
	for name, tc := range map[string]struct {
		p    goPackage
		want []string
	}{
		"scheduler, std":        {goPackage{module + "/scheduler", nil, []string{"time", "vendor/golang.org/x/text", module + "/scheduler/stream"}}, nil},
		"scheduler, indirectly": {goPackage{module + "/scheduler", []string{"time"}, []string{"github.com/x/y"}}, []string{"scheduler must not import github.com/x/y"}},
		"scheduler, host":       {goPackage{module + "/scheduler", nil, []string{module + "/host"}}, []string{"scheduler must not import host"}},
		"api, native":           {goPackage{module + "/host/api", []string{module + "/native"}, nil}, []string{"host/api must not import native"}},
		"api, wazero":           {goPackage{module + "/host/api", []string{"github.com/tetratelabs/wazero"}, nil}, []string{"host/api must not import github.com/tetratelabs/wazero"}},
		"plugin, native":        {goPackage{module + "/host/plugin", []string{module + "/native"}, nil}, []string{"host/plugin must not import native"}},
		"plugin, echo":          {goPackage{module + "/host/plugin", []string{"github.com/labstack/echo/v4"}, nil}, []string{"host/plugin must not import github.com/labstack/echo/v4"}},
		"chat, native":          {goPackage{module + "/host/chat", []string{module + "/native"}, nil}, []string{"host/chat must not import native"}},
		"native, ours":          {goPackage{module + "/native", nil, []string{"C", module + "/scheduler"}}, []string{"native must not import scheduler"}},
		"command":               {goPackage{module + "/cmd/penstock", []string{module + "/host", "github.com/spf13/cobra"}, nil}, nil},
		"a tool":                {goPackage{module + "/tools/check", []string{module + "/native"}, nil}, nil},
		"unknown": {goPackage{module + "/misc", nil, nil},
			[]string{"misc is not in the table of docs/architecture.md and of tools/check; say there what it may import"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, checkPackage(tc.p)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
