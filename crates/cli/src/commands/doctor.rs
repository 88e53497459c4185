//! `troupe doctor`: what works on this machine, and what to do about the rest.

mod report;

use std::env;
use std::fs;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use troupe_acp::backend::BackendConfig;
use troupe_agents::Family;
use troupe_agents::roles::{RoleCatalogue, RoleLibrary};
use troupe_model::catalogue;
use troupe_process::{EnforcementState, Launcher, LauncherOptions};
use troupe_protocol::policy::SandboxPolicy;
use troupe_tools::holds_credentials;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::print;
use crate::exec::no_model::HOW_TO_CONFIGURE;
use crate::failure::{CommandExit, Outcome};
use crate::home::{TroupeHome, here, repository_root, user_home};
use crate::keys::KeyFile;
use crate::layers::{ConfigSource, LoadedConfig};
use crate::limits::DOCTOR_CONNECT_MS_MAX;
use crate::provider::{key_source, needs_key, provider};
use crate::settings::{DeprecatedSetting, Settings};
use crate::style::{ColorChoice, TextStyle};
use crate::wiring::ConfiguredNames;

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 everything essential works, 1 something essential does not.")]
pub struct DoctorArguments {
    /// Do not try to reach the model's server.
    #[arg(long)]
    offline: bool,
    /// Write a text file for a bug report: version, platform, configuration without secrets, what
    /// is found here, and the end of the diagnostic log. Without FILE it gets a name of its own in
    /// this directory.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "by this clap tells no option, one without a name, and one with a name apart"
    )]
    report: Option<Option<PathBuf>>,
    #[command(flatten)]
    overrides: ConfigOverrides,
}

/// One thing that was looked at.
struct DoctorCheck {
    name: &'static str,
    state: CheckState,
    text: String,
}

impl DoctorCheck {
    /// Returns the row of a report: without colours.
    fn plain(&self) -> String {
        row(self, TextStyle::Plain)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckState {
    Good,
    /// Worth knowing; everything works.
    Notice,
    /// Something essential does not work.
    Bad,
}

pub fn run(
    arguments: DoctorArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let home = TroupeHome::find()?;
    let source = ConfigSource {
        home: home.clone(),
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let cwd = here()?;
    let mut checks = vec![DoctorCheck {
        name: "version",
        state: CheckState::Good,
        text: format!("troupe {}", env!("CARGO_PKG_VERSION")),
    }];
    checks.push(check_home(home.path()));
    let (configuration, read) = check_configuration(&source, &cwd);
    checks.extend(configuration);
    let mut policy = SandboxPolicy::workspace_write();
    if let Some((settings, configured)) = read {
        policy = configured;
        checks.extend(check_model(
            &settings,
            &KeyFile::of(&home),
            arguments.offline,
        ));
        checks.push(check_agents(&settings, &home, &cwd));
        checks.extend(check_backends(&settings));
    }
    checks.extend(check_sandbox(&home, &policy, &cwd));
    checks.push(check_repository(&cwd));

    let style = TextStyle::choose(ColorChoice::Auto, &io::stdout());
    print(
        &checks
            .iter()
            .map(|check| row(check, style))
            .collect::<String>(),
    )?;
    let is_bad = |check: &DoctorCheck| check.state == CheckState::Bad;
    if checks
        .iter()
        .any(|check| check.name == "key" && is_bad(check))
    {
        print(&format!("\n{HOW_TO_CONFIGURE}\n"))?;
    }
    if let Some(file) = arguments.report {
        print(&report::write(file, &source, &home, &cwd, &checks)?)?;
    }
    let bad = checks.iter().any(is_bad);
    Ok(if bad {
        CommandExit::Failed
    } else {
        CommandExit::Success
    })
}

/// Looks for the programs of other agents where they would be looked for when they start.
fn check_backends(settings: &Settings) -> Vec<DoctorCheck> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |command: &str| {
        let is_program = |file: &Path| {
            let found = fs::metadata(file);
            found.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        if command.contains('/') {
            is_program(Path::new(command))
        } else {
            env::split_paths(&path).any(|directory| is_program(&directory.join(command)))
        }
    };
    let backends = settings.integrations.backends.iter();
    let check = |(name, backend): (&String, &BackendConfig)| {
        let command = &backend.command;
        let (state, text) = if is_there(command) {
            (CheckState::Good, format!("{name}: {command} is there"))
        } else {
            let advice = "install it, or correct `command`";
            (
                CheckState::Notice,
                format!("{name}: {command} was not found; {advice}"),
            )
        };
        DoctorCheck {
            name: "backend",
            state,
            text,
        }
    };
    backends.map(check).collect()
}

fn row(check: &DoctorCheck, style: TextStyle) -> String {
    let mark = match check.state {
        CheckState::Good => style.green("ok  "),
        CheckState::Notice => style.yellow("note"),
        CheckState::Bad => style.red("FAIL"),
    };
    let text = check.text.replace('\n', "\n                    ");
    format!("{mark}  {:<12}  {text}\n", check.name)
}

fn check_home(home: &Path) -> DoctorCheck {
    let check = |state, text: String| DoctorCheck {
        name: "home",
        state,
        text: format!("{}: {text}", home.display()),
    };
    match fs::metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check(CheckState::Good, "is made by the first session".to_owned())
        }
        Err(error) => check(CheckState::Bad, error.to_string()),
        Ok(metadata) if !metadata.is_dir() => {
            check(CheckState::Bad, "is not a directory".to_owned())
        }
        Ok(metadata) => {
            if let Err(error) = tempfile_in(home) {
                return check(CheckState::Bad, format!("cannot be written ({error})"));
            }
            let mode = metadata.permissions().mode() & 0o777;
            let others = mode & 0o077;
            if others == 0 {
                return check(CheckState::Good, format!("writable, mode {mode:o}"));
            }
            let advice = "others can read your conversations; use chmod 700";
            check(CheckState::Notice, format!("mode {mode:o}: {advice}"))
        }
    }
}

/// Writing is the only sure way to know whether one can.
fn tempfile_in(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    fs::write(&path, b"")?;
    fs::remove_file(&path)
}

fn check_configuration(
    source: &ConfigSource,
    cwd: &Path,
) -> (Vec<DoctorCheck>, Option<(Settings, SandboxPolicy)>) {
    let check = |state, text: String| DoctorCheck {
        name: "config",
        state,
        text,
    };
    let read = source.load(cwd).and_then(|loaded| {
        let settings = Settings::read(&loaded.config)?;
        let rights = &settings.rights;
        let policy = rights.sandbox_policy(&loaded.config, user_home().as_deref(), &[])?;
        Ok((loaded, settings, policy))
    });
    let (LoadedConfig { config, warnings }, settings, policy) = match read {
        Ok(read) => read,
        Err(failure) => return (vec![check(CheckState::Bad, failure.to_string())], None),
    };
    let mut files: Vec<String> = config
        .settings()
        .iter()
        .filter_map(|(_, entry)| Some(entry.origin.file()?.display().to_string()))
        .collect();
    files.sort();
    files.dedup();
    let summary = if files.is_empty() {
        "no files, built-in defaults".to_owned()
    } else {
        files.join("\n")
    };
    let deprecated = DeprecatedSetting::find(&config);
    let warnings = warnings
        .into_iter()
        .chain(settings.integrations.warnings())
        .chain(deprecated.iter().map(ToString::to_string))
        .map(|warning| check(CheckState::Notice, warning));
    let checks = std::iter::once(check(CheckState::Good, summary))
        .chain(warnings)
        .collect();
    (checks, Some((settings, policy)))
}

fn check_model(settings: &Settings, keys: &KeyFile, offline: bool) -> Vec<DoctorCheck> {
    let id = &settings.model.model_provider;
    let check = |name, state, text: String| DoctorCheck { name, state, text };
    let Some(provider) = provider(settings, id) else {
        let text = format!("model_provider {id:?} is not configured");
        return vec![check("model", CheckState::Bad, text)];
    };
    let model = &settings.model.model;
    let address = without_credentials(&provider.base_url);
    let is_elsewhere = catalogue::provider_of(model).is_some_and(|own| own != id);
    let mut checks = vec![if is_elsewhere && id != "openai" {
        let text = format!(
            "the provider's own, asked for when a session begins, at {id} ({address}); {model} \
             is not its: name another with -m or the key model"
        );
        check("model", CheckState::Good, text)
    } else {
        check(
            "model",
            CheckState::Good,
            format!("{model} at {id} ({address})"),
        )
    }];
    checks.push(match key_source(&provider, id, Some(keys)) {
        Ok(Some(source)) => check("key", CheckState::Good, source.to_string()),
        Ok(None) if needs_key(&provider) => {
            let name = provider.env_key.as_deref().unwrap_or("env_key");
            let text =
                format!("none; run `troupe login {id}`, or set {name}; other ways are below");
            check("key", CheckState::Bad, text)
        }
        Ok(None) => check("key", CheckState::Good, "none needed".to_owned()),
        Err(error) => check("key", CheckState::Bad, error.to_string()),
    });
    if !offline {
        checks.push(match reach(&provider.base_url) {
            Ok(()) => check("server", CheckState::Good, "accepts connections".to_owned()),
            Err(why) => check("server", CheckState::Notice, format!("{address}: {why}")),
        });
    }
    checks
}

/// Returns an address as it may be shown: one that carries a password or a key is cut to its
/// server.
fn without_credentials(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) if holds_credentials(address) => {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            let server = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{server}")
        }
        _ => address.to_owned(),
    }
}

/// Opens a connection and closes it: no request, so nothing is spent.
fn reach(base_url: &str) -> Result<(), String> {
    let (rest, default_port) = match base_url.split_once("://") {
        Some(("https", rest)) => (rest, 443),
        Some(("http", rest)) => (rest, 80),
        _ => return Err("not an http or https URL".to_owned()),
    };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let address = if has_port {
        authority.to_owned()
    } else {
        format!("{authority}:{default_port}")
    };
    let addresses = address
        .to_socket_addrs()
        .map_err(|error| error.to_string())?;
    let timeout = Duration::from_millis(DOCTOR_CONNECT_MS_MAX);
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(_) => return Ok(()),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// A role file that is not understood refuses its name and nothing else.
fn check_agents(settings: &Settings, home: &TroupeHome, cwd: &Path) -> DoctorCheck {
    let families: Vec<&str> = settings
        .agents
        .families()
        .iter()
        .map(|family| match family {
            Family::Agents => "agents",
            Family::Sessions => "sessions",
            Family::Subagents => "subagents",
        })
        .collect();
    let tools = if families.is_empty() {
        "no tools are offered".to_owned()
    } else {
        format!("tools {}", families.join(", "))
    };
    let limits = settings.agents.limits();
    let servers = ConfiguredNames::of(&settings.integrations);
    let known = RoleLibrary::new(home.path())
        .with_user_home(user_home())
        .with_servers(servers);
    let RoleCatalogue { roles, broken } = known.catalogue(cwd);
    let first = format!(
        "{tools}; {} at once, {} in a tree, depth {}; {} roles",
        limits.max_threads,
        limits.max_agents,
        limits.max_depth,
        roles.len()
    );
    let lines: Vec<String> = std::iter::once(first)
        .chain(broken.iter().map(|it| format!("broken role: {}", it.error)))
        .collect();
    DoctorCheck {
        name: "agents",
        state: if broken.is_empty() {
            CheckState::Good
        } else {
            CheckState::Notice
        },
        text: lines.join("\n"),
    }
}

fn check_sandbox(home: &TroupeHome, policy: &SandboxPolicy, cwd: &Path) -> Vec<DoctorCheck> {
    let temporary = env::var("TMPDIR").ok();
    let variables = temporary.map(|path| ("TMPDIR".to_owned(), path));
    let report = Launcher::new(LauncherOptions {
        troupe_home: Some(home.path().to_owned()),
        ..LauncherOptions::default()
    })
    .report_on(policy, cwd, &variables.into_iter().collect());
    let backend = match report.backend() {
        Ok(backend) => DoctorCheck {
            name: "sandbox",
            state: CheckState::Good,
            text: backend.as_str().to_owned(),
        },
        Err(why) => DoctorCheck {
            name: "sandbox",
            state: CheckState::Bad,
            text: format!("{why}; commands are refused unless sandbox_mode is danger-full-access"),
        },
    };
    let rows = report.rows().iter().map(|row| match &row.state {
        EnforcementState::Enforced { by } => DoctorCheck {
            name: "",
            state: CheckState::Good,
            text: format!("{} ({by})", row.feature),
        },
        EnforcementState::NotEnforced { why } => DoctorCheck {
            name: "",
            state: CheckState::Notice,
            text: format!("{}: not enforced, {why}", row.feature),
        },
    });
    std::iter::once(backend).chain(rows).collect()
}

fn check_repository(cwd: &Path) -> DoctorCheck {
    let (state, text) = match repository_root(cwd) {
        Some(root) => (CheckState::Good, root.display().to_string()),
        None => (
            CheckState::Notice,
            "this directory is not in a git repository; exec needs --skip-git-repo-check here"
                .to_owned(),
        ),
    };
    DoctorCheck {
        name: "repository",
        state,
        text,
    }
}
