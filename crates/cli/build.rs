//! Makes the program start with less: its relocations are packed, and in the program that is
//! shipped the functions that most runs enter lie side by side.
//!
//! A position-independent program of this size has tens of thousands of addresses to put
//! right when it starts. Packed, the list of them is a fiftieth: every start saves reading two
//! megabytes. The C library must be 2.36 or newer for it; that of the machine which builds is
//! asked, and nobody is when the build is for another kind of machine.
//!
//! `cargo xtask dist` finds out the order of functions and names its file in
//! `TROUPE_FUNCTION_ORDER`. It is for the linker that comes with the compiler.

use std::env;
use std::ffi::{CStr, c_char};

const PACKED_SINCE: (u32, u32) = (2, 36);
const FUNCTION_ORDER: &str = "TROUPE_FUNCTION_ORDER";
/// Where the compiler brings the linker that takes a list of symbols.
const ORDERED_FOR: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if builds_for_itself() && libc_version().is_some_and(|version| version >= PACKED_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo::rerun-if-env-changed={FUNCTION_ORDER}");
    if let Ok(order) = env::var(FUNCTION_ORDER)
        && builds_for_itself()
        && has_usual_linker()
    {
        println!("cargo::rerun-if-changed={order}");
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={order}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
}

fn builds_for_itself() -> bool {
    env::var("TARGET").is_ok_and(|target| target.ends_with("-linux-gnu"))
        && env::var("TARGET") == env::var("HOST")
}

fn has_usual_linker() -> bool {
    let is_unset = |name| env::var_os(name).is_none_or(|value| value.is_empty());
    env::var("TARGET").is_ok_and(|target| target == ORDERED_FOR)
        && is_unset("RUSTC_LINKER")
        && is_unset("CARGO_ENCODED_RUSTFLAGS")
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn libc_version() -> Option<(u32, u32)> {
    unsafe extern "C" {
        safe fn gnu_get_libc_version() -> *const c_char;
    }
    // SAFETY: the library returns a constant text of its own.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) };
    let (major, minor) = version.to_str().ok()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn libc_version() -> Option<(u32, u32)> {
    None
}
