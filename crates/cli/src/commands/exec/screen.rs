//! `troupe`, `troupe resume` and `troupe fork` at a terminal: the same options, on a screen.

use super::positionals::{ExecPositionals, PromptSource, aim};
use super::{
    ExecAction, ExecArguments, ExecOptions, RepeatedOptions, existing, flags, working_directory,
};
use crate::arguments::{ConfigOverrides, LayerSelection, ScreenCli};
use crate::attach::EngineOrder;
use crate::exec::request::SessionChoice;
use crate::exec::unfinished_children::UnfinishedChildren;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::TroupeHome;
use crate::layers::ConfigSource;
use crate::screen::{self, ScreenStart, choose_session, is_at_terminal};
use crate::style::ColorChoice;

/// Goes on with a session on a screen; as `exec` does where there is no terminal, or where an
/// option says that a program reads what comes.
pub fn open(
    arguments: ExecArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    if !is_at_terminal() || is_headless(&arguments) {
        return super::run(arguments, overrides, layers);
    }
    let mut arguments = arguments;
    let mut chosen = None;
    if let Some(ExecAction::Resume(resume)) = &mut arguments.action
        && resume.session.is_none()
        && !resume.last
    {
        let cwd = working_directory(arguments.options.cd.as_deref())?;
        let source = ConfigSource {
            home: TroupeHome::find()?,
            overrides: overrides.clone(),
            layers: layers.clone(),
            flags: Vec::new(),
        };
        match choose_session(&source, &cwd)? {
            Some(SessionChoice::Resume(session)) => resume.session = Some(session),
            Some(SessionChoice::Fork { session, at }) => {
                resume.session = Some(session.clone());
                chosen = Some(SessionChoice::Fork { session, at });
            }
            Some(SessionChoice::New | SessionChoice::Last { .. }) => {}
            None => return Ok(CommandExit::Success),
        }
    }
    let ExecPositionals {
        continues,
        prompt,
        repeated,
    } = aim(arguments.action, arguments.prompt, arguments.repeated)?;
    let (prompt, go_on) = match prompt {
        PromptSource::Required(text) => (text, false),
        PromptSource::Optional(text) => (text, true),
        PromptSource::Review(_) => (None, false),
    };
    let continues = chosen.unwrap_or(continues);
    let order = order(&arguments.options, &repeated, overrides, layers, continues)?;
    screen::open(ScreenStart {
        order: EngineOrder { go_on, ..order },
        prompt,
    })
}

/// Tells whether an option was given that means nothing on a screen.
fn is_headless(arguments: &ExecArguments) -> bool {
    let further = match &arguments.action {
        Some(ExecAction::Resume(resume)) => Some(&resume.repeated),
        Some(ExecAction::Fork(fork)) => Some(&fork.repeated),
        Some(ExecAction::Review(_)) | None => None,
    };
    let repeated = further.into_iter().chain([&arguments.repeated]);
    repeated
        .map(|repeated| headless_option(&arguments.options, repeated))
        .any(|option| option.is_some())
}

/// Begins a session on a screen.
pub fn open_new(cli: ScreenCli, overrides: ConfigOverrides, layers: LayerSelection) -> Outcome {
    if let Some(name) = headless_option(&cli.options, &cli.repeated) {
        return Err(CommandFailure::usage(format!(
            "{name} is for a run without a screen: troupe exec {name} …"
        )));
    }
    let mut order = order(
        &cli.options,
        &cli.repeated,
        overrides,
        layers,
        SessionChoice::New,
    )?;
    if cli.no_alt_screen {
        order.config.push("tui.alternate_screen=never".to_owned());
    }
    screen::open(ScreenStart {
        order,
        prompt: cli.prompt,
    })
}

fn order(
    options: &ExecOptions,
    repeated: &RepeatedOptions,
    overrides: ConfigOverrides,
    layers: LayerSelection,
    continues: SessionChoice,
) -> Result<EngineOrder, CommandFailure> {
    let mut config = overrides.then(repeated.overrides.clone()).config;
    let flags = flags(options);
    config.extend(
        flags
            .iter()
            .map(|flag| format!("{}={}", flag.key, flag.value)),
    );
    let add_dirs = repeated.add_dirs.iter().map(|path| existing(path));
    Ok(EngineOrder {
        home: TroupeHome::find()?.path().to_owned(),
        cwd: working_directory(options.cd.as_deref())?,
        config,
        profile: layers.profile,
        strict_config: layers.strict_config,
        ignore_user_config: layers.ignore_user_config,
        ignore_rules: layers.ignore_rules,
        add_dirs: add_dirs.collect::<Result<_, _>>()?,
        continues,
        go_on: false,
        ends_with_screen: false,
    })
}

/// Returns an option that was given and means nothing on a screen.
fn headless_option(options: &ExecOptions, repeated: &RepeatedOptions) -> Option<&'static str> {
    let given = [
        ("--image", !repeated.images.is_empty()),
        ("--json", options.json),
        (
            "--output-last-message",
            options.output_last_message.is_some(),
        ),
        ("--output-schema", options.output_schema.is_some()),
        ("--max-turns", options.max_turns.is_some()),
        ("--ephemeral", options.ephemeral),
        (
            "--children",
            options.children != UnfinishedChildren::default(),
        ),
        ("--children-must-succeed", options.children_must_succeed),
        ("--color", options.color != ColorChoice::Auto),
        ("--record", options.record.is_some()),
        ("--replay", options.replay.is_some()),
    ];
    given
        .iter()
        .find(|(_, is_given)| *is_given)
        .map(|(name, _)| *name)
}
