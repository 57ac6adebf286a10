// SPDX-License-Identifier: MIT

// Package registry keeps the plugins of a folder: what its files hold, which of them has which
// name, and what is uploaded. Beside the folder it keeps the modules of clients, in memory.
//
// # Why does a lock refuse every module that it does not name?
//
// A list that only checks what it names would let a file of another name in, which a request
// could then use. The hash is compared before anything of the module runs, the name once the
// module has said it.
package registry
