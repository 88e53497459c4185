//! `troupe engine`: what a screen starts, and nobody types. What it does is in
//! [`crate::attach`].

use crate::attach::serve_engine;
use crate::failure::Outcome;

pub fn run() -> Outcome {
    serve_engine()
}
