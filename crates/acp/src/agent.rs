//! Our side of a connection with an editor, which is the client.
//!
//! One loop reads the client's messages and owns the table of open sessions. What takes time
//! (a session that opens, a list) is a job beside it, whose outcome is the next thing that
//! happens; what is asked of a session is handed to that session's own task, in the order in
//! which it came.

mod children;
mod config_options;
mod diff;
mod failure;
mod methods;
mod modes;
mod opening;
mod peer;
mod prompt;
mod question;
mod replay;
mod session;
mod tool_call;
mod updates;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use troupe_server::SessionPool;
use troupe_transport::limits::RPC_MESSAGE_BYTES_MAX;
use troupe_transport::rpc::{Outbox, RpcDialect, RpcError, write_lines};
use troupe_transport::{LineReader, ReceivedLine};

use methods::EditorConnection;

/// How clients see us.
#[derive(Debug, Clone, Copy)]
pub struct AgentIdentity {
    pub version: &'static str,
}

/// Serves one client until its input ends, `stop` returns, or nobody reads any more. Then
/// every session is ended in order.
pub async fn serve(
    house: SessionPool,
    about: AgentIdentity,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (outbox, messages) = Outbox::new(RpcDialect::Tagged);
    // Ends when every outbox is gone, or when nobody reads.
    let mut writer = tokio::spawn(write_lines(messages, output));
    let mut lines = LineReader::new(input, RPC_MESSAGE_BYTES_MAX);
    let mut connection = EditorConnection::new(house, about, outbox);
    let mut stop = std::pin::pin!(stop);
    let written = loop {
        tokio::select! {
            line = lines.next() => match line? {
                None => break None,
                Some(ReceivedLine::Whole(text)) => connection.take(text).await,
                Some(ReceivedLine::TooLong { .. }) => {
                    let message = format!("a message has more than {RPC_MESSAGE_BYTES_MAX} bytes");
                    connection.refuse_unreadable(RpcError::invalid_request(message)).await;
                }
            },
            () = connection.next_job() => {}
            () = &mut stop => break None,
            written = &mut writer => break Some(written),
        }
    };
    connection.end().await;
    let written = match written {
        Some(written) => written,
        None => writer.await,
    };
    match written {
        // Whoever stopped reading does not want to read about it.
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(written) => written,
        Err(panicked) => Err(io::Error::other(panicked)),
    }
}
