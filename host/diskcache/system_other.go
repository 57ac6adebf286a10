// SPDX-License-Identifier: MIT

//go:build !linux

package diskcache

import "os"

func yieldToOthers(bool) {}

func startFlush(*os.File, int64, int64) {}

func dropFromPageCache(*os.File, int64, int64) {}
