// SPDX-License-Identifier: MIT

package plugins
