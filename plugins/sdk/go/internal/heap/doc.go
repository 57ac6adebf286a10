// SPDX-License-Identifier: MIT

// Package heap is the garbage collector of plugins that TinyGo builds, since the target of this SDK
// says "gc": "custom". TinyGo's own collector scans each 16 bytes of the heap several times at each
// collection, for 80 units of fuel or more each: a plugin with a table of 2 MiB would run out of
// fuel at its first collection.
//
// Memory consists of pages of 4 KiB. A page has objects of one size, with a bit for each that says
// whether it is in use, or it belongs to one large object. A collection costs about 60 units for
// each page, and 10 for each word of objects that may hold pointers; objects without pointers, such
// as numbers and text, are not scanned. A collection runs once as much has been allocated as was in
// use after the last one, and at least minGarbage.
package heap
