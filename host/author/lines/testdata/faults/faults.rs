// SPDX-License-Identifier: MIT

//! A plugin that fails in open, in the way that the request's seed says.

#[link(wasm_import_module = "penstock")]
extern "C" {
    fn emit(ptr: *const u8, n: usize);
    fn param(kind: u32) -> i64;
}

const SEED: u32 = 3;

#[no_mangle]
pub extern "C" fn penstock_abi_v1() {}

#[no_mangle]
pub extern "C" fn penstock_describe() {
    let text = r#"{"name":"faults"}"#;
    unsafe { emit(text.as_ptr(), text.len()) }
}

#[no_mangle]
pub extern "C" fn penstock_open() -> i32 {
    fail(unsafe { param(SEED) }, &[])
}

#[inline(never)]
fn fail(n: i64, numbers: &[i32]) -> i32 {
    match n {
        1 => numbers[n as usize],     // fails for 1
        2 => std::process::abort(),   // fails for 2
        3 => panic!("no way"),        // fails for 3
        4 => unreachable!("said so"), // fails for 4
        5 => fill(), // fails for 5
        _ => 0,
    }
}

/// Takes memory without end.
fn fill() -> i32 {
    let mut all = Vec::new();
    loop {
        all.push(vec![1u8; 1 << 16]);
    }
}
