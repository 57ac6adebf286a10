// SPDX-License-Identifier: MIT

// Package heap is the garbage collector of plugins that TinyGo builds, since the target of this
// SDK says "gc": "custom". TinyGo's own looks at each 16 bytes of the heap several times at each
// collection, 80 units of fuel and more for each: with a table of 2 MiB a plugin would be out of
// fuel at its first collection.
//
// Memory is pages of 4 KiB. A page has objects of one size, with a bit for each that says whether
// it is in use, or it belongs to one large object. A collection costs some 60 units a page, and 10
// for each word of those objects that may hold pointers: what TinyGo knows to have none, such as
// numbers and text, is not looked at. There is one after as much was allocated as was in use after
// the last one, and at least minGarbage.
package heap
