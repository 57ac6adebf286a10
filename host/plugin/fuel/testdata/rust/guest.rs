// SPDX-License-Identifier: MIT

//! A guest for the rewriter's tests: the functions of testdata/go in Rust
//! without an allocator.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

const MAX: usize = 131072;
static mut LOGITS: [f32; MAX] = [0.0; MAX];
static mut ORDER: [u32; MAX] = [0; MAX];
static mut LEN: usize = 0;

#[no_mangle]
pub unsafe extern "C" fn fill(n: u32, mut seed: u32) {
    LEN = n as usize;
    for v in LOGITS[..LEN].iter_mut() {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        *v = (seed >> 8) as f32 / (1u32 << 20) as f32;
    }
}

#[no_mangle]
pub unsafe extern "C" fn argmax(scale: f32) -> i32 {
    let (mut best, mut at) = (-1e30f32, 0);
    for (i, v) in LOGITS[..LEN].iter().enumerate() {
        let v = v * scale;
        if v > best {
            best = v;
            at = i;
        }
    }
    at as i32
}

#[no_mangle]
pub unsafe extern "C" fn top(k: i32) -> i32 {
    let order = &mut ORDER[..LEN];
    for (i, o) in order.iter_mut().enumerate() {
        *o = i as u32;
    }
    order.sort_unstable_by(|&a, &b| {
        let (x, y) = (LOGITS[a as usize], LOGITS[b as usize]);
        y.partial_cmp(&x).unwrap().then(a.cmp(&b))
    });
    order[..k as usize].iter().fold(0i32, |sum, &i| sum.wrapping_mul(31).wrapping_add(i as i32))
}

/// Adds a row four wide, which the compiler turns into SIMD where it may.
#[no_mangle]
pub unsafe extern "C" fn scale(by: f32) -> i32 {
    let mut sum = [0f32; 4];
    for quad in LOGITS[..LEN].chunks_exact_mut(4) {
        for (s, v) in sum.iter_mut().zip(quad) {
            *v *= by;
            *s += *v;
        }
    }
    (sum[0] + sum[1] + sum[2] + sum[3]).to_bits() as i32
}

#[no_mangle]
pub extern "C" fn fib(n: i32) -> i32 {
    if n < 2 {
        n
    } else {
        fib(n - 1) + fib(n - 2)
    }
}
