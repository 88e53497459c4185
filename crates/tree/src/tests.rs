//! `check` plays a short script against a tree and compares what came of it.

mod addresses;
mod callbacks;
mod circles;
mod giving_way;
mod inboxes;
mod interrupts;
mod lifecycles;
mod limited;
mod model;
mod recoveries;
mod reference;
mod residency;
mod scene;
mod slot_queue;
mod stops;
mod waits;
