// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine says where something was measured.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"` // logical processors this process may use
	OS    string `json:"os"`
}

// ThisMachine is the one this process runs on.
func ThisMachine() Machine {
	return Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), OS: runtime.GOOS}
}

func (m Machine) String() string { return fmt.Sprintf("%s, %d cores, %s", m.CPU, m.Cores, m.OS) }

// cpuModel is what Linux calls the processor; elsewhere, or if it says nothing, the architecture.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
