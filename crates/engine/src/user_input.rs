//! A user's message, checked and turned into what the model reads. What is wrong with it is
//! found before anything is done for it.

mod mention;
mod picture;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use troupe_protocol::ResponseItem;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::history::{ContentItem, Role};
use troupe_protocol::input::{TextElement, UserInput};
use troupe_protocol::tree::MessageMetadata;

pub(crate) use picture::{DecodedPictures, PictureSource, linked as linked_picture};

use crate::limits::{INPUT_CHARS_MAX, INPUT_IMAGES_MAX, SKILLS_CHOSEN_MAX};
use crate::skills::{self, ChosenSkill, Skill, SkillCatalogue};

/// A message that was found to be sound.
#[derive(Debug)]
pub(crate) struct CheckedMessage {
    /// What it chose goes before it.
    pub skills: Vec<ChosenSkill>,
    /// None if nothing is said: the model goes on with what it knows.
    pub item: Option<ResponseItem>,
    /// Set if the engine wrote it.
    pub metadata: Option<MessageMetadata>,
    /// The client's own name for it.
    pub client_id: Option<String>,
}

impl CheckedMessage {
    /// A task that begins without a word.
    pub(crate) fn without_text() -> Self {
        Self {
            skills: Vec::new(),
            item: None,
            metadata: None,
            client_id: None,
        }
    }

    /// Returns what the model is told, in order.
    pub(crate) fn history(&self) -> impl Iterator<Item = ResponseItem> {
        let skills = self.skills.iter().map(ChosenSkill::item);
        skills.chain(self.marked_item())
    }

    /// Returns its own item, which says where it came from.
    fn marked_item(&self) -> Option<ResponseItem> {
        let mut item = self.item.clone();
        if let Some(ResponseItem::Message { metadata, said, .. }) = &mut item {
            *metadata = self.metadata.clone().map(Box::new);
            // What the tree tells was said by nobody, whatever it looks like.
            *said &= metadata.is_none();
        }
        item
    }
}

impl From<ResponseItem> for CheckedMessage {
    fn from(item: ResponseItem) -> Self {
        Self {
            skills: Vec::new(),
            item: Some(item),
            metadata: None,
            client_id: None,
        }
    }
}

/// Where a message is read.
#[derive(Debug)]
pub(crate) struct MessageContext {
    /// What relative paths start at.
    pub cwd: PathBuf,
    pub skills: Arc<SkillCatalogue>,
    pub author: MessageAuthor,
    pub pictures: Arc<DecodedPictures>,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageAuthor {
    /// A person, who chooses skills by `$name` too.
    User,
    /// Another agent, or the engine for it, who may quote anything.
    Agent,
}

/// Tells whether the message cannot be read without knowing the skills.
pub(crate) fn needs_skills(items: &[UserInput], author: MessageAuthor) -> bool {
    items.iter().any(|item| match item {
        UserInput::Skill { .. } => true,
        UserInput::Text { text, .. } => author == MessageAuthor::User && text.contains('$'),
        _ => false,
    })
}

/// Reads a message, or says what is wrong with it.
pub(crate) async fn read(
    items: &[UserInput],
    place: &MessageContext,
) -> Result<CheckedMessage, ErrorEvent> {
    check(items).map_err(|problem| refusal(&problem))?;
    let skills = choose(items, place)
        .await
        .map_err(|problem| refusal(&problem))?;
    let mut content = Vec::with_capacity(items.len());
    for item in items {
        let part = part(item, place).await;
        content.extend(part.map_err(|problem| refusal(&problem))?);
    }
    if content.is_empty() {
        // Only skills were chosen; a message of nothing is refused by providers.
        let names: Vec<&str> = skills.iter().map(|one| one.skill.name.as_str()).collect();
        let text = format!("Use the skill {}.", names.join(", "));
        content.push(ContentItem::InputText { text });
    }
    Ok(CheckedMessage {
        skills,
        item: Some(
            ResponseItem::Message {
                id: None,
                role: Role::User,
                content,
                metadata: None,
                said: false,
            }
            .marked_as_said(),
        ),
        metadata: None,
        client_id: None,
    })
}

/// Looks at what can be seen without the file system.
fn check(items: &[UserInput]) -> Result<(), String> {
    if items.is_empty() {
        return Err("the message has no items; send at least one".to_owned());
    }
    if items.iter().all(UserInput::is_blank) {
        return Err("the message is blank; say something".to_owned());
    }
    let (mut chars, mut images) = (0, 0);
    for item in items {
        match item {
            UserInput::Text {
                text,
                text_elements,
            } => {
                chars += text.chars().count();
                check_elements(text, text_elements)?;
            }
            UserInput::Image { .. } | UserInput::LocalImage { .. } => images += 1,
            _ => (),
        }
    }
    if chars > INPUT_CHARS_MAX {
        return Err(format!(
            "the message has {chars} characters; at most {INPUT_CHARS_MAX} are taken: put long \
             material into a file and name it"
        ));
    }
    if images > INPUT_IMAGES_MAX {
        return Err(format!(
            "the message has {images} images; at most {INPUT_IMAGES_MAX} are taken"
        ));
    }
    Ok(())
}

/// A UI that gets back a range which is none would fail at showing it.
fn check_elements(text: &str, elements: &[TextElement]) -> Result<(), String> {
    let is_range = |element: &TextElement| {
        let range = element.byte_range;
        text.get(range.start..range.end).is_some()
    };
    match elements.iter().position(|element| !is_range(element)) {
        None => Ok(()),
        Some(index) => {
            let range = elements[index].byte_range;
            Err(format!(
                "text_elements[{index}] is no part of its text: bytes {}..{} of {}, which must lie \
                 between characters",
                range.start,
                range.end,
                text.len()
            ))
        }
    }
}

/// Returns what an item becomes in the message; nothing if it stands elsewhere.
async fn part(item: &UserInput, place: &MessageContext) -> Result<Option<ContentItem>, String> {
    Ok(Some(match item {
        // Its elements are for people.
        UserInput::Text { text, .. } => ContentItem::InputText { text: text.clone() },
        UserInput::Image { image_url, detail } => {
            picture::linked(image_url, *detail, &place.pictures).await?
        }
        UserInput::LocalImage { path, detail } => {
            picture::local(place.cwd.join(path), *detail, &place.pictures).await?
        }
        UserInput::Mention { name, path } => mention::part(name, path, &place.cwd)?,
        UserInput::Skill { .. } => return Ok(None),
    }))
}

/// Reads the skills that a message asks for, on a thread that may block.
async fn choose(items: &[UserInput], place: &MessageContext) -> Result<Vec<ChosenSkill>, String> {
    if !needs_skills(items, place.author) {
        return Ok(Vec::new());
    }
    let catalogue = Arc::clone(&place.skills);
    let (items, cwd, author) = (items.to_vec(), place.cwd.clone(), place.author);
    let read = tokio::task::spawn_blocking(move || chosen(&items, &cwd, author, &catalogue));
    read.await
        .unwrap_or_else(|error| Err(format!("skills were not read: {error}")))
}

/// Reads the skills that items ask for, each once.
fn chosen(
    items: &[UserInput],
    cwd: &Path,
    author: MessageAuthor,
    catalogue: &SkillCatalogue,
) -> Result<Vec<ChosenSkill>, String> {
    let mut wanted: Vec<&Skill> = Vec::new();
    for item in items {
        let found = match item {
            UserInput::Skill { name, path } => vec![explicit(name, &cwd.join(path), catalogue)?],
            UserInput::Text { text, .. } if author == MessageAuthor::User => {
                skills::mentioned(text, catalogue)
            }
            _ => continue,
        };
        for skill in found {
            if wanted.iter().all(|other| other.path != skill.path) {
                wanted.push(skill);
            }
        }
    }
    if wanted.len() > SKILLS_CHOSEN_MAX {
        return Err(format!(
            "the message chooses {} skills; at most {SKILLS_CHOSEN_MAX} are taken",
            wanted.len()
        ));
    }
    let read = wanted.into_iter().map(|skill| {
        let read = skills::choose(skill);
        read.map_err(|problem| format!("the skill {} {problem}", skill.path.display()))
    });
    read.collect()
}

/// Only what was found can be chosen: another agent may ask for any path.
fn explicit<'a>(
    name: &str,
    path: &Path,
    catalogue: &'a SkillCatalogue,
) -> Result<&'a Skill, String> {
    skills::at(path, catalogue).ok_or_else(|| {
        format!(
            "there is no skill {name} at {}; list_skills tells which there are, and what is wrong \
             with others",
            path.display()
        )
    })
}

fn refusal(message: &str) -> ErrorEvent {
    ErrorEvent {
        message: message.to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}

#[cfg(test)]
mod tests;
