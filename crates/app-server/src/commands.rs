//! `command/exec` and what goes with it: commands that a client runs beside every thread, in
//! the same sandbox as those of a model.
//!
//! ```text
//!  command/exec ─► wish (checked) ─► Workplace ─► Process
//!                                                   │ run: output, input, time, until its end
//!  write, resize, terminate ─► roll: who runs ──────┘
//! ```
//!
//! The request itself owns its process: it ends with the client, and the process with it.

mod options;
mod outputs;
mod run;
mod running;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use troupe_process::{CommandSpec, Confinement};
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::wire::Empty;
use super::wire::command::{
    CommandExecParams, CommandExecResizeParams, CommandExecResponse, CommandExecTerminateParams,
    CommandExecWriteParams,
};
use options::CommandOptions;
use outputs::CommandOutputs;
use run::ClientCommand;
use running::CommandOrder;
pub(super) use running::RunningCommands;

pub(super) fn exec(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: CommandExecParams| async move {
            let wish = CommandOptions::check(params)?;
            // Its name is taken before it runs, so that the next request can use it.
            let place = match &wish.process_id {
                Some(id) => Some(client.belongings().commands.enter(id)?),
                None => None,
            };
            run_command(&client, wish, place).await
        },
    )
}

async fn run_command(
    client: &AppConnection,
    wish: CommandOptions,
    place: Option<running::CommandRegistration>,
) -> Result<CommandExecResponse, RpcError> {
    let office = client.app().host_services();
    let workplace = office.workplace(wish.cwd.as_deref(), wish.sandbox_policy.clone());
    let workplace = workplace.map_err(RpcError::invalid_request)?;
    let spec = CommandSpec {
        env: wish.environment(workplace.env),
        argv: wish.argv,
        confinement: Confinement::Policy {
            policy: workplace.sandbox_policy,
            cwd: workplace.cwd.clone(),
        },
        cwd: workplace.cwd,
        terminal: wish.terminal,
        stdin: wish.stdin,
    };
    let started = workplace.launcher.spawn(spec).await;
    let process = started.map_err(|error| RpcError::invalid_request(error.to_string()))?;
    let outputs = match (&wish.process_id, wish.streams_output) {
        (Some(id), true) => {
            CommandOutputs::streamed(client.clone(), id.clone(), wish.output_bytes_max)
        }
        _ => CommandOutputs::collected(wish.output_bytes_max),
    };
    let run = ClientCommand::new(process, outputs, wish.time_max);
    Ok(run.finish(place).await)
}

pub(super) fn write(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: CommandExecWriteParams| async move {
            let close = params.close_stdin == Some(true);
            if params.delta_base64.is_none() && !close {
                let message = "command/exec/write requires deltaBase64 or closeStdin";
                return Err(RpcError::invalid_params(message));
            }
            let text = params.delta_base64.unwrap_or_default();
            let bytes = BASE64_STANDARD.decode(text).map_err(|error| {
                RpcError::invalid_params(format!("invalid params: deltaBase64: {error}"))
            })?;
            let order = |reply| CommandOrder::Write {
                bytes,
                close,
                reply,
            };
            client
                .belongings()
                .commands
                .order(&params.process_id, order)
                .await?;
            Ok(Empty {})
        },
    )
}

pub(super) fn resize(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: CommandExecResizeParams| async move {
            let size = options::terminal_size(params.size)?;
            let order = |reply| CommandOrder::Resize { size, reply };
            client
                .belongings()
                .commands
                .order(&params.process_id, order)
                .await?;
            Ok(Empty {})
        },
    )
}

pub(super) fn terminate(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: CommandExecTerminateParams| async move {
            client.belongings().commands.terminate(&params.process_id)?;
            Ok(Empty {})
        },
    )
}
