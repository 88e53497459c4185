//! Lines of JSON over a byte stream.

use tokio::io::{AsyncRead, AsyncWrite};
use troupe_protocol::discard;
use troupe_transport::{ClientReader, FromClient, LineWriter};

use super::client::{
    ClientGone, ClientInlet, ClientOutlet, EntryRequirement, OutgoingMessage, serve_client,
};
use super::hub::ClientHub;

pub(super) async fn serve(
    hub: &ClientHub,
    door: &EntryRequirement,
    read: impl AsyncRead + Unpin + Send,
    write: impl AsyncWrite + Unpin + Send,
) {
    let inlet = LineInlet(ClientReader::new(read));
    let outlet = LineOutlet(LineWriter::new(write));
    serve_client(hub, door, inlet, outlet).await;
}

struct LineInlet<R>(ClientReader<R>);

impl<R: AsyncRead + Unpin + Send> ClientInlet for LineInlet<R> {
    async fn next(&mut self) -> Option<FromClient> {
        // A connection that failed is one that ended.
        self.0.next().await.ok().flatten()
    }
}

struct LineOutlet<W>(LineWriter<W>);

impl<W: AsyncWrite + Unpin + Send> ClientOutlet for LineOutlet<W> {
    fn add(&mut self, message: OutgoingMessage<'_>) {
        let pushed = match message {
            OutgoingMessage::Notice(notice) => self.0.push(notice),
            OutgoingMessage::Event(event) => self.0.push_event(event),
        };
        pushed.expect("notices, and events after the replacement, are text in JSON");
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    async fn flush(&mut self) -> Result<(), ClientGone> {
        self.0.flush().await.map_err(|_| ClientGone)
    }

    async fn close(&mut self) {
        // Who is gone needs no end.
        discard!(
            self.0.shutdown().await,
            "a connection was closed without a last message: the client is gone"
        );
    }
}
