//! The path of one delta. Run with `cargo bench -p troupe-model`.
fn main() {}
