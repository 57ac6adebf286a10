// SPDX-License-Identifier: MIT

package penstock

import _ "github.com/penstock/penstock/plugins/sdk/go/internal/heap" // the collector that the targets of TinyGo name
