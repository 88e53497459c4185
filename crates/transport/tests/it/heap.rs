//! Counts what the current thread holds on the heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Returns what `work` returns, and how many bytes it held at most beyond what was held before.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, PEAK.get().saturating_sub(before).unsigned_abs())
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn add(bytes: usize) {
    HELD.set(HELD.get().saturating_add_unsigned(bytes));
    PEAK.set(PEAK.get().max(HELD.get()));
}

fn remove(bytes: usize) {
    HELD.set(HELD.get().saturating_sub_unsigned(bytes));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        remove(layout.size());
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block may both exist while the content moves.
        add(size);
        let moved = unsafe { System.realloc(memory, layout, size) };
        remove(layout.size());
        moved
    }
}
