//! What is known about models by name. A model that is not here is not wrong: the caller
//! chooses defaults for it (a context window of 128,000 tokens is a careful one).

use std::sync::LazyLock;

use serde::Deserialize;
use troupe_protocol::policy::ReasoningEffort;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    pub slug: String,
    /// Tokens of input that fit, the model's output left aside.
    pub context_window: u64,
    pub max_output: u64,
    /// The efforts that it accepts; empty for a model that does not reason.
    #[serde(default)]
    pub efforts: Vec<ReasoningEffort>,
    #[serde(default)]
    pub images: bool,
}

impl ModelInfo {
    pub fn reasons(&self) -> bool {
        !self.efforts.is_empty()
    }
}

#[derive(Deserialize)]
struct Catalogue {
    model: Vec<ModelInfo>,
}

static CATALOGUE: LazyLock<Vec<ModelInfo>> = LazyLock::new(|| {
    toml::from_str::<Catalogue>(include_str!("catalogue.toml"))
        .expect("the embedded catalogue is read by a test of this crate")
        .model
});

/// Returns every known model, in the order in which it should be offered.
pub fn models() -> &'static [ModelInfo] {
    &CATALOGUE
}

/// Finds a model by its slug. Dated snapshots are found under their plain name.
pub fn lookup(slug: &str) -> Option<&'static ModelInfo> {
    let plain = without_date(slug);
    CATALOGUE
        .iter()
        .find(|info| info.slug == slug || info.slug == plain)
}

/// Cuts `-2026-11-16` off the end.
fn without_date(slug: &str) -> &str {
    let Some((name, date)) = slug
        .len()
        .checked_sub("-YYYY-MM-DD".len())
        .and_then(|at| slug.split_at_checked(at))
    else {
        return slug;
    };
    let is_date = date.bytes().enumerate().all(|(index, byte)| match index {
        0 | 5 | 8 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if is_date { name } else { slug }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_embedded_catalogue_reads_and_names_each_model_once() {
        let slugs: HashSet<_> = models().iter().map(|info| &info.slug).collect();
        assert_eq!(slugs.len(), models().len());
        for info in models() {
            assert!(info.max_output <= info.context_window, "{}", info.slug);
        }
    }

    #[test]
    fn a_dated_snapshot_is_its_model() {
        assert_eq!(lookup("gpt-5-2025-08-07"), lookup("gpt-5"));
        assert!(lookup("gpt-5").is_some_and(ModelInfo::reasons));
        assert!(lookup("gpt-4.1").is_some_and(|info| !info.reasons() && info.images));
    }

    #[test]
    fn an_unknown_model_is_not_guessed() {
        assert_eq!(lookup("my-finetune"), None);
        assert_eq!(lookup("gpt-5-latest"), None);
        assert_eq!(lookup(""), None);
        assert_eq!(lookup("äöüäöüäöü-1"), None);
    }
}
