// SPDX-License-Identifier: MIT

package hub

import "time"

// Event is what Client.Notify is told: Planned, Progress, Retrying or Verifying.
type Event interface{ event() }

// Planned is told once it is known what is to be downloaded.
type Planned struct {
	Files []File
	Total int64 // bytes; -1: the server does not say
	Have  int64 // bytes of them from an earlier pull
}

// Progress is told while bytes come. Done may become smaller if a file has to be started again.
type Progress struct {
	Done, Total int64 // bytes of all files; Total is -1 if the server does not say
}

// Retrying is told when something failed and will be tried again.
type Retrying struct {
	File  string // or the repository
	Delay time.Duration
	Err   error
}

// Verifying is told before the SHA-256 of a file is computed.
type Verifying struct{ File string }

func (Planned) event()   {}
func (Progress) event()  {}
func (Retrying) event()  {}
func (Verifying) event() {}
