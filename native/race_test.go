// SPDX-License-Identifier: MIT

//go:build race

package native

// mostCost is how many times what ordinary work costs the hostile may cost. The race detector slows Go down, and C++ not: what is refused in Go
// costs more beside what llama.cpp does.
const mostCost = 100
