// SPDX-License-Identifier: MIT

//go:build unix

package model

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

const saysMemory = "PENSTOCK_TEST_SAYS_MEMORY"

// A process that is limited with ulimit does not believe that it has all of the machine's memory.
func TestAvailableMemory_LimitOfProcess(t *testing.T) {
	if os.Getenv(saysMemory) != "" {
		fmt.Printf("available %d\n", AvailableMemory())
		return
	}
	self := must.Get(os.Executable())(t)
	const limit = 500 << 20
	cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf(`ulimit -d %d && exec "$0" -test.run '^TestAvailableMemory_LimitOfProcess$'`, limit>>10), self)
	cmd.Env = append(os.Environ(), saysMemory+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "available ")
	text, _, _ = strings.Cut(text, "\n")
	if n, err := strconv.ParseUint(text, 10, 64); err != nil || n == 0 || n > limit {
		t.Errorf("%s, which should be below %d", out, limit)
	}
}
