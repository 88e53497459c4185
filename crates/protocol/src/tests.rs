//! The wire by example, what it makes of hostile input, and the files generated from it.

#[macro_use]
mod example;

mod events;
mod generated;
mod hostile;
mod items;
mod links;
mod ops;
mod projection;
mod records;
mod variant_docs;
