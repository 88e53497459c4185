//! The tools of one session, by name.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::TurnItem;
use troupe_protocol::tool::ToolSpec;

use crate::call::{Ask, Call, Channel, ToolEvent};
use crate::item;
use crate::tool::{Concurrency, Tool, ToolOutput};

/// Offers the tools to the model and runs its calls. One per session.
#[derive(Debug)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    /// Builds a registry of the given tools. Of two with one name the later one is offered.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| (tool.spec().name().to_owned(), tool))
            .collect();
        Self { tools }
    }

    /// Returns what the model is offered, by name.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools
            .values()
            .map(|tool| tool.spec().clone())
            .collect()
    }

    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns how a call of this name may be scheduled. A name that is not known is only
    /// answered, so it may run beside anything.
    pub fn concurrency(&self, name: &str) -> Concurrency {
        self.find(name)
            .map_or(Concurrency::Shared, |tool| tool.concurrency())
    }

    /// Runs one call. A name that is not known, and a tool that panics, are told to the model.
    pub async fn call(&self, name: &str, call: Call) -> ToolOutput {
        let Some(tool) = self.find(name) else {
            return self.unknown(name, &call).await;
        };
        let witness = Arc::new(Witness {
            inner: Arc::clone(&call.channel),
            open: Mutex::new(None),
        });
        let watched = Call {
            channel: Arc::clone(&witness) as Arc<dyn Channel>,
            ..call
        };
        match AssertUnwindSafe(tool.call(watched)).catch_unwind().await {
            Ok(output) => output,
            Err(panic) => {
                let text = format!(
                    "the tool {name} failed inside the engine ({}); this is a defect of the \
                     engine, not of the call: go on another way",
                    panic_text(panic.as_ref())
                );
                witness.close_open_item(&text).await;
                ToolOutput::failure(text)
            }
        }
    }

    /// Ends every process that earlier calls left running, and waits until they are gone.
    pub async fn shutdown(&self) {}

    async fn unknown(&self, name: &str, call: &Call) -> ToolOutput {
        let names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        let text = format!(
            "there is no tool {name:?}; the tools are: {}",
            names.join(", ")
        );
        item::failed(call, name, text).await
    }
}

/// Passes everything on and remembers the item that is open, so that a panic leaves none
/// behind: what is started is always completed.
#[derive(Debug)]
struct Witness {
    inner: Arc<dyn Channel>,
    open: Mutex<Option<TurnItem>>,
}

impl Witness {
    fn set_open(&self, item: Option<TurnItem>) -> Option<TurnItem> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *open, item)
    }

    async fn close_open_item(&self, text: &str) {
        let Some(mut item) = self.set_open(None) else {
            return;
        };
        match &mut item {
            TurnItem::CommandExecution(item) => item.status = WorkStatus::Failed,
            TurnItem::FileChange(item) => {
                item.status = WorkStatus::Failed;
                text.clone_into(&mut item.stderr);
            }
            TurnItem::ToolCall(item) => {
                item.status = WorkStatus::Failed;
                item.output = Some(text.to_owned());
            }
            // Kinds without a status: being completed is all that can be said of them.
            _ => {}
        }
        self.inner.report(ToolEvent::Completed(item)).await;
    }
}

#[async_trait]
impl Channel for Witness {
    async fn report(&self, event: ToolEvent) {
        match &event {
            ToolEvent::Started(item) => {
                self.set_open(Some(item.clone()));
            }
            ToolEvent::Completed(_) => {
                self.set_open(None);
            }
            ToolEvent::Output { .. }
            | ToolEvent::Plan { .. }
            | ToolEvent::TerminalInteraction { .. }
            | ToolEvent::Warning(_) => {}
        }
        self.inner.report(event).await;
    }

    async fn ask(&self, ask: Ask) -> ReviewDecision {
        self.inner.ask(ask).await
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
