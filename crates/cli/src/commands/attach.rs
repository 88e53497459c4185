//! `troupe attach`: the screen of a session that another process runs.

use std::path::PathBuf;

use clap::Args;
use troupe_protocol::SessionId;
use troupe_protocol::link::Secret;
use troupe_store::EmbeddedStore;
use troupe_transport::SessionAddress;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::attach::{AttachPlace, EngineOrder, attachable};
use crate::commands::block_on;
use crate::exec::request::SessionChoice;
use crate::exec::target::resolve;
use crate::failure::{CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::screen::{self, ScreenOrigin, ScreenPlan, Survival};

#[derive(Debug, Args)]
#[command(
    after_help = "Without a name it is the one session that runs. Leaving ends nothing: the work goes on. Two
may be attached; one drives, and the other asks for the seat.

Examples:
  troupe attach                       the session that runs
  troupe attach 3f2a9c1e              one of several
  troupe attach ws:127.0.0.1:7000     a session that `troupe proto --listen` serves"
)]
pub struct AttachArguments {
    /// The session: id, its first 4 or more characters, or name; or an address as `troupe proto
    /// --listen` takes it.
    target: Option<String>,
    /// The file with the token of a network address; by default that of this home.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// What there is to attach to.
enum AttachTarget {
    Session(SessionId, AttachPlace),
    Address(SessionAddress),
}

pub fn run(
    arguments: AttachArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let cwd = here()?;
    let home = TroupeHome::find()?;
    screen::require_terminal("troupe attach")?;
    let target = target(&home, arguments.target.as_deref())?;
    let source = ConfigSource {
        home: home.clone(),
        overrides,
        layers,
        flags: Vec::new(),
    };
    let (origin, address, _place) = match target {
        AttachTarget::Session(id, place) => (
            ScreenOrigin::Attached(Some(id)),
            place.address(),
            Some(place),
        ),
        AttachTarget::Address(address) => (ScreenOrigin::Attached(None), address, None),
    };
    let token = match &address {
        SessionAddress::Net(..) => Some(token(&home, arguments.token_file)?),
        SessionAddress::Stdio | SessionAddress::Unix(_) => None,
    };
    let settings = screen::settings(&source, &cwd)?;
    let next = matches!(origin, ScreenOrigin::Attached(Some(_)));
    screen::run(ScreenPlan {
        origin,
        address,
        token,
        settings,
        prompt: None,
        survival: Survival::GoesOn,
        next: next.then(|| order_here(&source, cwd)),
    })
}

/// Returns how another session would be opened from here.
fn order_here(source: &ConfigSource, cwd: PathBuf) -> EngineOrder {
    EngineOrder {
        home: source.home.path().to_owned(),
        cwd,
        config: source.overrides.config.clone(),
        profile: source.layers.profile.clone(),
        strict_config: source.layers.strict_config,
        ignore_user_config: source.layers.ignore_user_config,
        ignore_rules: source.layers.ignore_rules,
        add_dirs: Vec::new(),
        continues: SessionChoice::New,
        go_on: false,
        ends_with_screen: false,
    }
}

fn token(home: &TroupeHome, named: Option<PathBuf>) -> Result<Secret, CommandFailure> {
    let path = named.unwrap_or_else(|| home.path().join("run").join("proto.token"));
    let text = std::fs::read_to_string(&path).map_err(|error| {
        CommandFailure::usage(format!(
            "a network address needs a token, and {} cannot be read: {error}; name its file with \
             --token-file",
            path.display()
        ))
    })?;
    Ok(Secret(text.trim().to_owned()))
}

fn target(home: &TroupeHome, named: Option<&str>) -> Result<AttachTarget, CommandFailure> {
    let Some(named) = named else {
        return only_one(home);
    };
    if named.contains(':') {
        return match named.parse() {
            Ok(SessionAddress::Stdio) | Err(_) => Err(CommandFailure::usage(format!(
                "\"{named}\" is no address; write unix:PATH, tcp:HOST:PORT, ws:HOST:PORT, \
                 http:HOST:PORT or grpc:HOST:PORT"
            ))),
            Ok(address) => Ok(AttachTarget::Address(address)),
        };
    }
    let store = EmbeddedStore::open(home.path()).map_err(CommandFailure::not_started)?;
    let id = block_on(resolve(&store, named))?;
    let place = AttachPlace::of(home.path(), id).map_err(CommandFailure::not_started)?;
    if place.is_live() {
        return Ok(AttachTarget::Session(id, place));
    }
    Err(CommandFailure::usage(format!(
        "no process runs session {0}; `troupe resume {0}` goes on with it",
        id.short()
    )))
}

fn only_one(home: &TroupeHome) -> Result<AttachTarget, CommandFailure> {
    let found = attachable(home.path()).map_err(CommandFailure::not_started)?;
    match found.as_slice() {
        [] => Err(CommandFailure::usage(
            "no session runs; `troupe resume --last` goes on with the last one of this directory",
        )),
        [id] => {
            let place = AttachPlace::of(home.path(), *id).map_err(CommandFailure::not_started)?;
            Ok(AttachTarget::Session(*id, place))
        }
        several => {
            let ids: Vec<String> = several.iter().map(SessionId::short).collect();
            Err(CommandFailure::usage(format!(
                "{} sessions run; name one of {}",
                several.len(),
                ids.join(", ")
            )))
        }
    }
}
