// SPDX-License-Identifier: MIT

package serving

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest tells models apart of whose files nothing better is known. It is not that of the contents, which would take long to read.
func (i Info) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d", i.Name, i.Size, i.Parameters, i.Created.UnixNano()))
	return hex.EncodeToString(sum[:])
}
