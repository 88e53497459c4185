//! Generates the gRPC code from its description, without a foreign compiler.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes `crates/transport/src/grpc/generated.rs`.
pub fn generate() -> Result<()> {
    let transport = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/transport");
    let description = transport.join("proto/troupe.proto");
    let descriptors = protox::compile([&description], [transport.join("proto")])?;
    let written = std::env::temp_dir().join(format!("troupe-grpc-{}", std::process::id()));
    fs::create_dir_all(&written)?;
    tonic_prost_build::configure()
        .build_transport(false)
        .out_dir(&written)
        .compile_fds(descriptors)?;
    let code = fs::read_to_string(written.join("troupe.v1.rs")).context("no code was generated")?;
    fs::remove_dir_all(&written)?;
    let stamp = crate::stamp::of(&fs::read_to_string(&description)?);
    let code = format!("// Generated from proto/troupe.proto {stamp}; do not edit.\n\n{code}");
    fs::write(transport.join("src/grpc/generated.rs"), code)?;
    Ok(())
}
