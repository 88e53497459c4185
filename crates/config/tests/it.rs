//! The crate as its callers see it: real files, typed sections, printed errors.

#[path = "it/home.rs"]
mod home;
#[path = "it/layers.rs"]
mod layers;
#[path = "it/unknown.rs"]
mod unknown;
#[path = "it/values.rs"]
mod values;
