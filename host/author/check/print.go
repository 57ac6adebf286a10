// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/penstock/penstock/plugins/abi"
)

// Print writes a report for people.
func (r *Report) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s %s\n", r.Plugin, r.Version)
	fmt.Fprintf(table, "  export\tcalls\tmedian\tlongest\tmost fuel\tof the limit\n")
	for _, e := range r.Exports {
		fmt.Fprintf(table, "  %s\t%d\t%v\t%v\t", e.Name, e.Calls, e.Median, e.Most)
		if e.Fuel > 0 {
			fmt.Fprintf(table, "%d\t%.3f%%", e.Fuel, 100*float64(e.Fuel)/limit(e.Name))
		} else {
			fmt.Fprintf(table, "\t")
		}
		fmt.Fprintln(table)
	}
	if r.Memory.Most > 0 {
		fmt.Fprintf(table, "  memory at the end of conversations: %d to %d KiB of the %d that an instance may have\n", r.Memory.Least>>10, r.Memory.Most>>10, abi.LimitMemoryPages*64)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(table, "  wrong: %s\n", f)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintf(table, "  nothing wrong was found\n")
	}
	return table.Flush()
}

// limit is the default fuel limit of an export.
func limit(export string) float64 {
	switch export {
	case abi.ExportPlan:
		return abi.LimitPlanFuel
	case abi.ExportInitialize, abi.ExportDescribe, abi.ExportWarm, abi.ExportOpen, abi.ExportMessages, abi.ExportTemplate:
		return abi.LimitSetupFuel
	}
	return abi.LimitHookFuel
}
