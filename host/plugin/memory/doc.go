// SPDX-License-Identifier: MIT

// Package memory gives guests linear memory that never moves, that costs only
// the pages it touches, and that can begin as a copy of another's.
//
// A Region is reserved address space. Growing makes more of it accessible and
// copies nothing, so a host may keep the address of a bound buffer for the
// life of an instance. An Image is the content of a Region at one moment;
// restoring it into another maps it copy-on-write, so that a thousand
// instances share the pages of one warmed instance until they write to them.
//
// A Region belongs to one instance:
//
//	region, err := memory.New(64<<20, nil)
//	ctx = experimental.WithMemoryAllocator(ctx, region)
//	instance, err := runtime.InstantiateModule(ctx, compiled, config)
//	err = region.Restore(instance.Memory(), image) // if there is an image
//
// Restoring comes after instantiation, which writes the module's data
// segments: they would overwrite what the warmed instance made of them.
//
// wazero frees the Region when the instance is closed. Slices of it must not
// be used after that: their pages are gone.
//
// On Linux pages come from mmap and images are sealed memory files. Elsewhere
// the Go heap stands in, with the same behaviour at the price of copies.
//
// # Why is plugins.memory as much for a server as it was for a model?
//
// Guests use memory while requests run, and requests of several models share the processors that
// they shared before. A guest has 0.3 to 2 MiB, at most 64. 2 GiB is enough for a thousand usual
// guests or 32 of the largest.
package memory
