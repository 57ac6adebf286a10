// SPDX-License-Identifier: MIT

// Package registry keeps the plugins of a folder: what its files hold, which of them has which name, and what is uploaded.
package registry
