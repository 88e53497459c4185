//! `troupe rules`: the user's rules about commands, edits and tools of MCP servers.

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use troupe_tools::rules::{
    self, CommandRule, CommandRuling, PlacedRule, RuleBook, RuleChoice, RuleDecision, RuleMatter,
    RuleSet, SandboxUse,
};
use troupe_tools::{PolicyVerdict, SandboxChoice};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here, user_home};
use crate::layers::{ConfigSource, LoadedConfig};
use crate::settings::Settings;

#[derive(Debug, Args)]
#[command(
    after_help = "Rules are [[rule]] tables in $TROUPE_HOME/rules.toml: prefix, decision, reason. The strictest of
all rules and of all commands of a script wins; `ask` and `forbid` pass over options, so that
`git -C . push` is a `git push`. `allow` skips the question; the command stays in
the sandbox unless the rule says sandbox = \"off\". A project's .troupe/rules.toml may ask and forbid;
it may allow only if you trust the project. Changes count at once, in running sessions too.

Examples:
  troupe rules                                       all rules, with file and line
  troupe rules add ask git push --reason \"others see it\"
  troupe rules add forbid -- git push --force        words with dashes come after --
  troupe rules add forbid --edit '*.lock'            files, by a pattern as in .gitignore
  troupe rules add ask --mcp 'github/delete_*'       tools of MCP servers
  troupe rules remove git push                       by its words, or by its number in the list
  troupe rules check -- cargo test --workspace       which rule decides, and what happens"
)]
pub struct RulesArguments {
    #[command(subcommand)]
    action: Option<RulesAction>,
    #[command(flatten)]
    overrides: ConfigOverrides,
}

#[derive(Debug, Subcommand)]
enum RulesAction {
    /// List all rules (the default).
    List,
    /// Add a rule to your own file.
    Add(RuleAddArguments),
    /// Remove one of your own rules.
    Remove {
        /// Its number in the list, or its words, with the decision before them if need be.
        #[arg(
            required = true,
            value_name = "NUMBER|WORD",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        words: Vec<String>,
    },
    /// Say which rule decides about a command, and what would happen to it.
    #[command(
        after_help = "Exit codes:\n  0  it runs unasked\n  1  it is refused\n  5  you are asked first"
    )]
    Check {
        /// The words of a command, or one script.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct RuleAddArguments {
    decision: DecisionArgument,
    /// The first words of the command.
    #[arg(required_unless_present_any = ["edit", "mcp"], value_name = "WORD")]
    words: Vec<String>,
    /// In the place of a command: files that are not to be changed, or only so. A pattern as in
    /// `.gitignore`.
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["words", "mcp", "outside"])]
    edit: Option<String>,
    /// In the place of a command: tools of MCP servers. `*` stands for any characters.
    #[arg(long, value_name = "SERVER/TOOL", conflicts_with_all = ["words", "outside"])]
    mcp: Option<String>,
    /// Told to you when it asks, and to the model when it forbids.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With `allow`: run it outside of the sandbox.
    #[arg(long)]
    outside: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DecisionArgument {
    Allow,
    Ask,
    Forbid,
}

impl From<DecisionArgument> for RuleDecision {
    fn from(argument: DecisionArgument) -> Self {
        match argument {
            DecisionArgument::Allow => Self::Allow,
            DecisionArgument::Ask => Self::Ask,
            DecisionArgument::Forbid => Self::Forbid,
        }
    }
}

pub fn run(
    arguments: RulesArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let file = source.home.rules_file();
    match arguments.action.unwrap_or(RulesAction::List) {
        RulesAction::List => list(&source),
        RulesAction::Add(arguments) => add(&file, arguments),
        RulesAction::Remove { words } => remove(&file, &words),
        RulesAction::Check { command } => check(&source, command),
    }
}

fn list(source: &ConfigSource) -> Outcome {
    let cwd = here()?;
    let LoadedConfig { config, .. } = source.load(&cwd)?;
    let rule_source = source.rules(&cwd, &config);
    let complaint = rule_source.trust.complaint();
    let rules = RuleBook::new(rule_source).current();
    print(&listing(&rules, &source.home.rules_file(), complaint))?;
    for error in &rules.broken {
        tell(&format!("error: {error}"));
    }
    if !rules.broken.is_empty() {
        tell("until this is mended, every command that is not known to be safe is asked for");
        return Ok(CommandExit::Failed);
    }
    Ok(CommandExit::Success)
}

/// One line per rule. Only the user's own have numbers: only those can be removed from here.
fn listing(rules: &RuleSet, own: &Path, complaint: &str) -> String {
    let own_rules = rules.placed.iter().filter(|placed| placed.file == own);
    let others = rules.placed.iter().filter(|placed| placed.file != own);
    let numbered = own_rules
        .zip(1..)
        .map(|(placed, number)| line(&format!("{number}"), placed));
    let others = others.map(|placed| line("-", placed));
    let ignored = rules.ignored.iter().map(|placed| {
        let line = line("-", placed);
        format!("{} (ignored: {complaint})\n", line.trim_end())
    });
    let lines: String = numbered.chain(others).chain(ignored).collect();
    if lines.is_empty() && rules.broken.is_empty() {
        return "no rules; `troupe rules add` makes one\n".to_owned();
    }
    lines
}

fn line(number: &str, placed: &PlacedRule) -> String {
    let PlacedRule { rule, file, line } = placed;
    let words = match rule.sandbox {
        SandboxUse::On => rule.words(),
        SandboxUse::Off => format!("{} (outside)", rule.words()),
    };
    let reason = rule.reason.as_ref().map(|reason| format!(" {reason}"));
    format!(
        "{number:<3} {:<6}  {words:<32}  # {}:{line}{}\n",
        rule.decision.as_str(),
        file.display(),
        reason.unwrap_or_default()
    )
}

fn add(file: &Path, arguments: RuleAddArguments) -> Outcome {
    let matter = match (arguments.edit, arguments.mcp) {
        (Some(pattern), _) => RuleMatter::Edit(pattern),
        (None, Some(pattern)) => RuleMatter::Mcp(pattern),
        (None, None) => RuleMatter::Command(arguments.words),
    };
    let rule = CommandRule {
        matter,
        decision: arguments.decision.into(),
        sandbox: if arguments.outside {
            SandboxUse::Off
        } else {
            SandboxUse::On
        },
        reason: arguments.reason,
    };
    rule.check().map_err(CommandFailure::usage)?;
    let said = format!("{} {}", rule.decision.as_str(), rule.words());
    let added = rules::append(file, &[rule]).map_err(CommandFailure::failed)?;
    let what = if added == 0 {
        "is there already"
    } else {
        "added"
    };
    print(&format!("{said}: {what} ({})\n", file.display()))?;
    Ok(CommandExit::Success)
}

fn remove(file: &Path, words: &[String]) -> Outcome {
    let rule = rules::remove(file, &chosen(words)?).map_err(CommandFailure::failed)?;
    print(&format!(
        "{} {}: removed ({})\n",
        rule.decision.as_str(),
        rule.words(),
        file.display()
    ))?;
    Ok(CommandExit::Success)
}

/// Reads a number, or the words of a rule. No program is called like a decision.
fn chosen(words: &[String]) -> Result<RuleChoice, CommandFailure> {
    if let [number] = words
        && let Ok(number) = number.parse::<usize>()
    {
        let index = number.checked_sub(1);
        let index =
            index.ok_or_else(|| CommandFailure::usage("the first rule has the number 1"))?;
        return Ok(RuleChoice::Index(index));
    }
    let (decision, words) = match words.split_first() {
        Some((first, rest)) if !rest.is_empty() => match DecisionArgument::from_str(first, false) {
            Ok(decision) => (Some(decision.into()), rest),
            Err(_) => (None, words),
        },
        _ => (None, words),
    };
    Ok(RuleChoice::Matter {
        decision,
        matter: matter(words),
    })
}

/// Reads what a rule is about: the words of a command, or `--edit PATTERN`, or `--mcp PATTERN`.
fn matter(words: &[String]) -> RuleMatter {
    match words {
        [option, pattern] if option == "--edit" => RuleMatter::Edit(pattern.clone()),
        [option, pattern] if option == "--mcp" => RuleMatter::Mcp(pattern.clone()),
        words => RuleMatter::Command(words.to_vec()),
    }
}

fn check(source: &ConfigSource, command: Vec<String>) -> Outcome {
    let cwd = here()?;
    let LoadedConfig { config, .. } = source.load(&cwd)?;
    let rights = Settings::read(&config)?.rights;
    let policy = rights.sandbox_policy(&config, user_home().as_deref(), &[])?;
    let rules = RuleBook::new(source.rules(&cwd, &config)).current();
    let ruling = match matter(&command) {
        RuleMatter::Command(_) => None,
        RuleMatter::Edit(path) => {
            let path = cwd.join(path);
            Some(rules.edit_ruling([&[path.as_path()][..]]))
        }
        RuleMatter::Mcp(name) => {
            let (server, tool) = name
                .split_once('/')
                .ok_or_else(|| CommandFailure::usage("name the tool as SERVER/TOOL"))?;
            Some(rules.tool_ruling(server, tool))
        }
    };
    if let Some(ruling) = ruling {
        print(&format!("{}\n", said(&ruling)))?;
        return Ok(match ruling {
            CommandRuling::Silent | CommandRuling::Allow { .. } => CommandExit::Success,
            CommandRuling::Ask(_) | CommandRuling::Unreadable(_) => CommandExit::ApprovalNeeded,
            CommandRuling::Forbid(_) => CommandExit::Failed,
        });
    }
    let argv = match &command[..] {
        [script] => ["bash", "-c", script].map(str::to_owned).to_vec(),
        _ => command,
    };
    let rule = said(&rules.ruling(&argv));
    let (outcome, exit) = match rules.verdict(&argv, rights.approval_policy, &policy) {
        PolicyVerdict::Allow(sandbox) => (
            format!("it runs {}, unasked", place(sandbox)),
            CommandExit::Success,
        ),
        PolicyVerdict::Ask { reason, then } => (
            format!("you are asked ({reason}), then it runs {}", place(then)),
            CommandExit::ApprovalNeeded,
        ),
        PolicyVerdict::Refuse(text) => (text, CommandExit::Failed),
    };
    print(&format!(
        "{rule}\nwith approval_policy {} and sandbox_mode {}: {outcome}\n",
        json!(rights.approval_policy),
        json!(policy.mode())
    ))?;
    Ok(exit)
}

fn said(ruling: &CommandRuling) -> String {
    match ruling {
        CommandRuling::Silent => "no rule decides".to_owned(),
        CommandRuling::Allow { rule, .. } => format!("{rule} allows it"),
        CommandRuling::Ask(rule) => format!("{rule} says to ask"),
        CommandRuling::Forbid(rule) => format!("{rule} forbids it"),
        CommandRuling::Unreadable(error) => format!("the rules cannot be read ({error})"),
    }
}

fn place(sandbox: SandboxChoice) -> &'static str {
    match sandbox {
        SandboxChoice::Confined => "in the sandbox",
        SandboxChoice::Unconfined => "outside of the sandbox",
    }
}
