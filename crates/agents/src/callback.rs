//! Callbacks: the message that a parent gets when a task of its child has ended.
//!
//! ```text
//! TaskResult ─► Context ─► the target's template ──fails, is empty──► the default text
//!                               │                                        + a warning
//!                               └──────────────► text ◄──────────────────┘
//! ```
//!
//! Templates are Handlebars, as far as they only arrange values: `if`, `else`, `unless`,
//! `with`, `lookup` and `eq`. A template comes from outside and is rendered between a
//! child's end and the line that records it, so it must come to an end itself: there are no
//! partials, which can include each other for ever, no `each`, which nested over the
//! context costs more with every level, and few enough tags that a deeply nested template
//! cannot exhaust the stack of its reader.
//!
//! Deliberately absent: who is told, when, and how often.

mod context;
mod limits;
mod preview;
mod session;

use std::io;
use std::sync::LazyLock;

use handlebars::template::{Template, TemplateElement};
use handlebars::{Handlebars, no_escape};
use thiserror::Error;
use troupe_protocol::spawn::CallbackConfig;

pub(crate) use context::CallbackContext;
pub(crate) use limits::PROMPT_CHARS_MAX;
use limits::{OPENERS_MAX, RENDERED_BYTES_MAX, TEMPLATE_BYTES_MAX};
pub(crate) use preview::check;
pub use preview::{CallbackPreview, TemplateFault, preview};
pub(crate) use session::{is_said, of_session};

/// The default text, as a template. Whoever wants another one starts from here.
const DEFAULT: &str = include_str!("callback/default.hbs");

/// The name under which a registry knows its only template.
const NAME: &str = "callback";

/// A message for the target's inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderedCallback {
    pub text: String,
    /// Why it is not the target's template that speaks.
    pub warning: Option<String>,
}

#[derive(Debug, Error)]
enum TemplateError {
    #[error("it is longer than {TEMPLATE_BYTES_MAX} bytes")]
    TooLong,
    #[error("it has more than {OPENERS_MAX} opening brackets, each tag counted as two")]
    TooManyTags,
    #[error("it uses partials or decorators, which callbacks do not have")]
    Partials,
    #[error("what it renders is longer than {RENDERED_BYTES_MAX} bytes")]
    TooMuchText,
    #[error("it renders nothing")]
    Empty,
    #[error("it is not readable as Handlebars{}", at(*.0))]
    Syntax(Option<(usize, usize)>),
    #[error("it cannot be rendered{}: {problem}", at(*.place))]
    Failed {
        place: Option<(usize, usize)>,
        problem: String,
    },
}

/// Writes the callback for one ended task. `config` says what may be told, and how the
/// target wants to hear it.
pub(crate) fn render(config: &CallbackConfig, context: &CallbackContext) -> RenderedCallback {
    let context = &context.as_allowed(config);
    match config.template.as_deref().map(|own| custom(own, context)) {
        None => RenderedCallback {
            text: default(context),
            warning: None,
        },
        Some(Ok(text)) => RenderedCallback {
            text,
            warning: None,
        },
        Some(Err(problem)) => RenderedCallback {
            text: default(context),
            warning: Some(format!(
                "the callback template of session {} is not used: {problem}; the default text \
                 was sent instead",
                context.parent_session_id
            )),
        },
    }
}

fn default(context: &CallbackContext) -> String {
    static REGISTRY: LazyLock<Handlebars<'static>> = LazyLock::new(|| {
        let template = Template::compile(DEFAULT).expect("the default template is well-formed");
        registry(template)
    });
    let text = REGISTRY
        .render(NAME, context)
        .expect("the default template calls only helpers that are there, with their arguments");
    text.trim_end().to_owned()
}

fn custom(template: &str, context: &CallbackContext) -> Result<String, TemplateError> {
    let template = compile(template)?;
    let mut page = RenderBuffer::default();
    let rendered = registry(template).render_to_write(NAME, context, &mut page);
    if page.is_full {
        return Err(TemplateError::TooMuchText);
    }
    rendered.map_err(|error| TemplateError::Failed {
        place: error.line_no.zip(error.column_no),
        problem: error.reason().to_string(),
    })?;
    let text = String::from_utf8_lossy(&page.bytes);
    match text.trim_end() {
        "" => Err(TemplateError::Empty),
        text => Ok(text.to_owned()),
    }
}

impl TemplateError {
    /// Returns the line and the column, where they are known.
    fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Syntax(place) | Self::Failed { place, .. } => *place,
            Self::TooLong
            | Self::TooManyTags
            | Self::Partials
            | Self::TooMuchText
            | Self::Empty => None,
        }
    }
}

fn compile(text: &str) -> Result<Template, TemplateError> {
    if text.len() > TEMPLATE_BYTES_MAX {
        return Err(TemplateError::TooLong);
    }
    // Counted before it is parsed: the parser is the first to recurse.
    let openers = text.bytes().filter(|byte| b"([{".contains(byte)).count();
    if openers > OPENERS_MAX {
        return Err(TemplateError::TooManyTags);
    }
    let template = Template::compile(text).map_err(|error| TemplateError::Syntax(error.pos()))?;
    if includes_others(&template) {
        return Err(TemplateError::Partials);
    }
    Ok(template)
}

fn includes_others(template: &Template) -> bool {
    template.elements.iter().any(|element| match element {
        TemplateElement::HelperBlock(block) => {
            let parts = [&block.template, &block.inverse];
            parts.into_iter().flatten().any(includes_others)
        }
        TemplateElement::RawString(_)
        | TemplateElement::HtmlExpression(_)
        | TemplateElement::Expression(_)
        | TemplateElement::Comment(_) => false,
        // Partials and decorators, and whatever a later version may add.
        _ => true,
    })
}

/// Returns a registry with one template and the helpers that it may use.
fn registry(template: Template) -> Handlebars<'static> {
    let mut registry = Handlebars::new();
    registry.register_escape_fn(no_escape);
    // Most of these exist in this implementation alone and would hide values of the same
    // name; `each` is taken away for the reason given above.
    for helper in [
        "and", "or", "not", "ne", "gt", "gte", "lt", "lte", "len", "raw", "log", "each",
    ] {
        registry.unregister_helper(helper);
    }
    registry.register_template(NAME, template);
    registry
}

fn at(place: Option<(usize, usize)>) -> String {
    place.map_or_else(String::new, |(line, column)| {
        format!(" at line {line}, column {column}")
    })
}

/// Takes what a template writes, up to a bound.
#[derive(Debug, Default)]
struct RenderBuffer {
    bytes: Vec<u8>,
    is_full: bool,
}

impl io::Write for RenderBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > RENDERED_BYTES_MAX {
            self.is_full = true;
            return Err(io::Error::other("the page is full"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
