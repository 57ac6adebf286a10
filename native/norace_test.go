// SPDX-License-Identifier: MIT

//go:build !race

package native

// mostCost is how many times what ordinary work costs the hostile may cost.
const mostCost = 20
