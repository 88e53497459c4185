//! Code that was generated from something else in the repository.

use super::read;
use crate::stamp;

#[test]
fn the_grpc_code_is_that_of_its_description() {
    let text = |path| read(path).map(|file| file.text).unwrap_or_default();
    let description = text("crates/transport/proto/troupe.proto");
    let code = text("crates/transport/src/grpc/generated.rs");
    let first = code.lines().next().unwrap_or_default();
    assert!(
        first.contains(&stamp::of(&description)),
        "grpc/generated.rs is stale: run `cargo xtask codegen` and commit what it writes",
    );
}
