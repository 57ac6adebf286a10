// SPDX-License-Identifier: MIT

package table

import _ "embed"

// The reference's sections of prose, in Markdown.
var (
	//go:embed rules/order.md
	order string
	//go:embed rules/programs.md
	programs string
	//go:embed rules/media.md
	media string
	//go:embed rules/fuel.md
	fuel string
	//go:embed rules/faults.md
	faults string
	//go:embed rules/manifest.md
	manifest string
	//go:embed rules/plans.md
	plans string
	// growth says how v1 can be extended although it is frozen.
	//go:embed rules/growth.md
	growth string
	//go:embed rules/wasi.md
	wasi string
)

func rules() []Section {
	return []Section{
		{"Order of calls", order}, {"Programs", programs}, {"Pictures and sounds", media},
		{"Random numbers", randomNumbers()}, {"Fuel and stack", fuel}, {"Faults", faults},
		{"Manifest", manifest}, {"Plans", plans}, {"Growth", growth}, {"WASI", wasi},
	}
}
