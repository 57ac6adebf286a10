// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

// Distribution tells what a row of logits says as a whole: the natural logarithm of the sum of their exponentials, less which a logit is a
// log-probability, and the entropy in nats. NaN counts as −Inf; of a row with nothing above that logSum is −Inf.
func Distribution(row []float32) (logSum, entropy float32) {
	var l, e C.float
	C.ps_distribution(cFloats(row), C.size_t(len(row)), &l, &e)
	return float32(l), float32(e)
}
