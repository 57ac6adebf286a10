// SPDX-License-Identifier: MIT

package helm

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

// `helm lint` has nothing to say but that there is no icon.
func TestChart_Lint(t *testing.T) {
	for _, name := range cases(t) {
		for _, message := range lint.RunAll("penstock", values(t, name), "models").Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}
