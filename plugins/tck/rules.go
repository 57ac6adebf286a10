// SPDX-License-Identifier: MIT

package tck

import "slices"

// Rules are the cases whose guests exercise the ABI: what they may expect of a host, and what a
// host must refuse.
func Rules() []Case {
	return slices.Concat(lifeCases(), requestCases(), vocabularyCases(), bufferCases(), viewCases(), prepareCases(), acceptCases(), rewindCases(),
		stopCases(), retellCases(), strictCases(), messagesCases(), limitCases(), systemCases(), manifestCases(), moduleCases(), additionCases(),
		programCases(), halfPrograms())
}
