//! Packs the program's relocations where the C library can unpack them.
//!
//! A position-independent program of this size has tens of thousands of addresses to put
//! right when it starts. Packed, the list of them is a fiftieth: every start saves reading two
//! megabytes. The C library must be 2.36 or newer for it; that of the machine which builds is
//! asked, and nobody is when the build is for another kind of machine.

use std::env;
use std::ffi::{CStr, c_char};

const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if builds_for_itself() && libc_version().is_some_and(|version| version >= PACKED_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn builds_for_itself() -> bool {
    env::var("TARGET").is_ok_and(|target| target.ends_with("-linux-gnu"))
        && env::var("TARGET") == env::var("HOST")
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
