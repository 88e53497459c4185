//! The large types as JSON, compiled once.
//!
//! Generic code is compiled by the crate that names the types, again in each of them. For
//! types that consist of all the others it is most of what such a crate costs to build, so
//! whoever reads or writes one of these goes through here.

use crate::event::{Event, EventMsg};
use crate::link::{ClientRequest, ServerNotice};
use crate::op::{Op, Submission};
use crate::rollout::{EventRecord, RolloutRecord, SessionMeta};
use crate::tree::AgentLine;

pub trait JsonCodec: Sized {
    fn from_json(json: &[u8]) -> serde_json::Result<Self>;

    /// Adds it to `out`. After an error, what was added is not whole.
    fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()>;

    fn to_json(&self) -> serde_json::Result<String> {
        let mut json = Vec::new();
        self.write_json(&mut json)?;
        Ok(String::from_utf8(json).expect("the writer of JSON writes UTF-8"))
    }
}

macro_rules! json {
    ($($name:ty),* $(,)?) => {$(
        impl JsonCodec for $name {
            fn from_json(json: &[u8]) -> serde_json::Result<Self> {
                serde_json::from_slice(json)
            }

            fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
                serde_json::to_writer(out, self)
            }
        }
    )*};
}

json! {
    Event, EventMsg, Submission, Op, ServerNotice, ClientRequest,
    RolloutRecord, EventRecord, SessionMeta, AgentLine,
    // A message of the wire that is none of ours.
    serde_json::Value,
}
