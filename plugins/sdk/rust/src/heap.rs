// SPDX-License-Identifier: MIT

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;

/// An allocator for guests without std: sizes are rounded up to powers of two, and each size has its list of free blocks.
/// An instance lives as long as a request, so nothing is given back to the host.
pub struct Heap {
    state: UnsafeCell<State>,
}

struct State {
    free: [*mut u8; 33], // heads of lists of blocks of 2^i bytes; a free block begins with the next one's address
    next: usize,         // untouched memory
    end: usize,
}

// Safety: a guest has one thread.
unsafe impl Sync for Heap {}

const PAGE: usize = 65536;

impl Heap {
    /// An empty heap.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Heap {
        Heap { state: UnsafeCell::new(State { free: [null_mut(); 33], next: 0, end: 0 }) }
    }
}

/// The class of a layout: the power of two that holds its size and its alignment, 8 bytes at least.
fn class(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(8).next_power_of_two().trailing_zeros() as usize
}

impl State {
    /// Cuts a block from untouched memory. Large ones are cut to size, not to their class, and still return to its list.
    unsafe fn cut(&mut self, class: usize, align: usize) -> *mut u8 {
        let size = 1usize << class;
        let mut at = (self.next + align - 1) & !(align - 1);
        if self.next == 0 || at.checked_add(size).map_or(true, |end| end > self.end) {
            let pages = (size + align + PAGE - 1) / PAGE;
            let before = core::arch::wasm32::memory_grow(0, pages);
            if before == usize::MAX {
                return null_mut();
            }
            if before * PAGE != self.end {
                at = (before * PAGE + align - 1) & !(align - 1); // somebody else grew the memory meanwhile
            }
            self.end = (before + pages) * PAGE;
            at = at.max((self.next.max(8) + align - 1) & !(align - 1));
        }
        self.next = at + size;
        at as *mut u8
    }
}

// Safety: blocks are disjoint, as large as their class and aligned to min(class, what was asked for), and a list only has
// blocks of its class that nobody uses.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let state = &mut *self.state.get();
        let class = class(layout);
        if class > 30 {
            return null_mut();
        }
        let head = state.free[class];
        if head.is_null() {
            return state.cut(class, (1usize << class).min(4096).max(layout.align()));
        }
        state.free[class] = *(head as *mut *mut u8);
        head
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let state = &mut *self.state.get();
        *(block as *mut *mut u8) = state.free[class(layout)];
        state.free[class(layout)] = block;
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let wanted = Layout::from_size_align_unchecked(size, layout.align());
        if class(wanted) == class(layout) {
            return block;
        }
        let moved = self.alloc(wanted);
        if !moved.is_null() {
            core::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            self.dealloc(block, layout);
        }
        moved
    }
}
