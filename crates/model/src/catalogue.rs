//! What is known about models by name. A model that is not here is not wrong: the caller
//! chooses defaults for it (a context window of 128,000 tokens is a careful one), and takes it
//! to think as the others of its wire do.

use std::sync::LazyLock;

use serde::Deserialize;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::policy::ReasoningEffort;

/// The model that plays screenplays, and the provider that has it.
pub const SCRIPTED_MODEL: &str = "scripted";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    pub slug: String,
    /// Tokens of input that fit, the model's output left aside; absent where its maker does
    /// not tell.
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    /// The efforts that it accepts; empty for a model that does not reason.
    #[serde(default)]
    pub efforts: Vec<ReasoningEffort>,
    /// The effort that it has when none is asked for.
    pub default_effort: Option<ReasoningEffort>,
    #[serde(default)]
    pub images: bool,
    #[serde(default)]
    pub thinking: ThinkingStyle,
    #[serde(default)]
    pub maker: ModelMaker,
    /// Anybody can serve it, with a window of their own: what a server says of it counts more.
    #[serde(default)]
    pub self_hosted: bool,
}

/// Whose model it is. A provider that serves one model of a maker serves the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelMaker {
    #[default]
    OpenAi,
    Anthropic,
}

/// How a model is told to think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingStyle {
    /// By the name of an effort, if it reasons at all.
    #[default]
    Named,
    /// It decides itself how much to think, guided by an effort.
    Adaptive,
    /// By a number of tokens.
    Budget,
}

impl ModelMaker {
    /// Returns the built-in provider that serves its models.
    pub fn provider_id(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

impl ModelInfo {
    pub fn reasons(&self) -> bool {
        !self.efforts.is_empty()
    }

    /// Returns the model as clients are told of it.
    pub fn entry(&self) -> ModelEntry {
        ModelEntry {
            context_window: self.context_window,
            max_output: self.max_output,
            efforts: self.efforts.clone(),
            default_effort: self.default_effort,
            images: Some(self.images),
            ..ModelEntry::named(&self.slug)
        }
    }
}

#[derive(Deserialize)]
struct ModelCatalogue {
    model: Vec<ModelInfo>,
}

static CATALOGUE: LazyLock<Vec<ModelInfo>> = LazyLock::new(|| {
    toml::from_str::<ModelCatalogue>(include_str!("catalogue.toml"))
        .expect("the embedded catalogue is read by a test of this crate")
        .model
});

/// Returns every known model, in the order in which it should be offered.
pub fn models() -> &'static [ModelInfo] {
    &CATALOGUE
}

/// Returns the built-in list as clients are told of it. The model that plays screenplays is
/// in nobody's shop.
pub fn entries() -> Vec<ModelEntry> {
    let offered = models().iter().filter(|info| info.slug != SCRIPTED_MODEL);
    offered.map(ModelInfo::entry).collect()
}

/// Marks the model that is used unless another is chosen, and adds it if it is not listed.
pub fn with_default(mut models: Vec<ModelEntry>, default: &str) -> Vec<ModelEntry> {
    if !models.iter().any(|entry| entry.model == default) {
        let known = lookup(default).map(ModelInfo::entry);
        let own = ModelEntry {
            model: default.to_owned(),
            ..known.unwrap_or_else(|| ModelEntry::named(default))
        };
        models.insert(0, own);
    }
    for entry in &mut models {
        entry.is_default = entry.model == default;
    }
    models
}

/// Returns the built-in provider that serves a model; none for a model that nobody knows, or
/// that anybody can serve.
pub fn provider_of(slug: &str) -> Option<&'static str> {
    let info = lookup(slug).filter(|info| !info.self_hosted && info.slug != SCRIPTED_MODEL)?;
    Some(info.maker.provider_id())
}

/// Tells whether a built-in provider is the maker of its models, and serves no others.
pub(crate) fn is_maker(provider_id: &str) -> bool {
    [ModelMaker::OpenAi, ModelMaker::Anthropic]
        .map(ModelMaker::provider_id)
        .contains(&provider_id)
}

/// Returns why a provider hardly has a model, if it is another maker's own.
pub fn maker_mismatch(provider_id: &str, slug: &str) -> Option<String> {
    let fitting = provider_of(slug)?;
    (is_maker(provider_id) && provider_id != fitting).then(|| {
        format!(
            "the provider {provider_id} hardly has the model {slug}, which is one of {fitting}'s: \
             set model_provider to {fitting:?}, or choose another model"
        )
    })
}

/// Finds a model by its slug. Dated snapshots are found under their plain name, and what was
/// trained further under the name of what it was made of.
pub fn lookup(slug: &str) -> Option<&'static ModelInfo> {
    let slug = base_of_tuned(slug).unwrap_or(slug);
    let plain = without_date(slug);
    CATALOGUE
        .iter()
        .find(|info| info.slug == slug || info.slug == plain)
}

/// The families whose models do not reason, for those that are too old to be listed one by one.
const UNREASONING_FAMILIES: [&str; 3] = ["gpt-3.5", "gpt-4", "chatgpt-4o"];

/// Tells whether a model reasons. One that nobody knows is newer than this catalogue, and does.
pub(crate) fn reasons(slug: &str) -> bool {
    if let Some(info) = lookup(slug) {
        return info.reasons();
    }
    let slug = base_of_tuned(slug).unwrap_or(slug);
    let mut families = UNREASONING_FAMILIES.iter();
    !families.any(|family| slug.starts_with(family))
}

/// Reads `gpt-4.1` out of `ft:gpt-4.1:organisation:suffix:id`.
fn base_of_tuned(slug: &str) -> Option<&str> {
    slug.strip_prefix("ft:")?.split(':').next()
}

/// Cuts `-2026-11-16` or `-20261116` off the end.
pub(crate) fn without_date(slug: &str) -> &str {
    ["-0000-00-00", "-00000000"]
        .iter()
        .find_map(|pattern| without_end(slug, pattern))
        .unwrap_or(slug)
}

/// Cuts off an end that looks like the pattern, in which 0 stands for any digit.
fn without_end<'a>(slug: &'a str, pattern: &str) -> Option<&'a str> {
    let at = slug.len().checked_sub(pattern.len())?;
    let (name, end) = slug.split_at_checked(at)?;
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    end.bytes().zip(pattern.bytes()).all(fits).then_some(name)
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
            if let (Some(output), Some(window)) = (info.max_output, info.context_window) {
                assert!(output <= window, "{}", info.slug);
            }
            let default = info.default_effort;
            assert!(
                default.is_none_or(|effort| info.efforts.contains(&effort)),
                "{}",
                info.slug
            );
        }
    }

    #[test]
    fn a_dated_snapshot_is_its_model() {
        assert_eq!(lookup("gpt-5-2025-08-07"), lookup("gpt-5"));
        let haiku = lookup("claude-haiku-4-5-20251001");
        assert_eq!(haiku, lookup("claude-haiku-4-5"));
        assert!(haiku.is_some_and(|info| info.thinking == ThinkingStyle::Budget));
        assert!(lookup("gpt-5").is_some_and(ModelInfo::reasons));
        assert!(lookup("gpt-4.1").is_some_and(|info| !info.reasons() && info.images));
    }

    #[test]
    fn what_was_trained_further_is_like_what_it_was_made_of() {
        let tuned = lookup("ft:gpt-4.1-2025-04-14:acme::AbC123");
        assert_eq!(tuned, lookup("gpt-4.1"));
        assert!(tuned.is_some_and(|info| !info.reasons()));
    }

    #[test]
    fn an_unknown_model_is_taken_to_reason() {
        assert!(reasons("gpt-7-nova"));
        assert!(reasons("my-finetune"));
        assert!(!reasons("gpt-4-turbo"));
        assert!(!reasons("ft:gpt-3.5-turbo:acme::1"));
        assert!(!reasons("gpt-4.1"));
    }

    #[test]
    fn a_model_of_another_maker_does_not_fit() {
        assert_eq!(provider_of("claude-opus-5-5"), Some("anthropic"));
        assert_eq!(provider_of("gpt-6.1-sol"), Some("openai"));
        assert_eq!(provider_of("gpt-oss-20b"), None);
        assert_eq!(provider_of("scripted"), None);
        let told = maker_mismatch("openai", "claude-opus-5-5").unwrap();
        assert!(
            told.contains("set model_provider to \"anthropic\""),
            "{told}"
        );
        assert_eq!(maker_mismatch("anthropic", "claude-opus-5-5"), None);
        // What a gateway has, nobody knows.
        assert_eq!(maker_mismatch("gateway", "claude-opus-5-5"), None);
    }

    #[test]
    fn the_models_of_today_are_known() {
        use ReasoningEffort::{High, Low, Max, Medium, Ultra, Xhigh};
        let sol = lookup("gpt-6.1-sol").unwrap();
        assert_eq!(sol.context_window, Some(272_000));
        assert_eq!(sol.efforts, [Low, Medium, High, Xhigh, Max, Ultra]);
        assert_eq!(sol.default_effort, Some(Low));
        let terra = lookup("gpt-6.1-terra").unwrap();
        assert_eq!(terra.context_window, Some(500_000));
        let luna = lookup("gpt-6-luna").unwrap();
        assert_eq!(luna.efforts, [Low, Medium, High, Xhigh, Max]);
        for name in ["claude-fable-5-2", "claude-mythos-5-2"] {
            let info = lookup(name).unwrap();
            assert_eq!(
                (info.maker, info.context_window),
                (ModelMaker::Anthropic, None)
            );
        }
        assert_eq!(
            models()[0].slug,
            "gpt-6.1-sol",
            "the newest is offered first"
        );
    }

    #[test]
    fn an_unknown_model_is_not_guessed() {
        assert_eq!(lookup("my-finetune"), None);
        assert_eq!(lookup("gpt-5-latest"), None);
        assert_eq!(lookup(""), None);
        assert_eq!(lookup("äöüäöüäöü-1"), None);
    }
}
