//! Lines of JSON over a byte stream.

use tokio::io::{AsyncRead, AsyncWrite};
use troupe_protocol::discard;
use troupe_transport::{ClientReader, FromClient, LineWriter};

use super::converse::{Door, Gone, Inlet, Outgoing, Outlet, converse};
use super::hub::Hub;

pub(super) async fn serve(
    hub: &Hub,
    door: &Door,
    read: impl AsyncRead + Unpin + Send,
    write: impl AsyncWrite + Unpin + Send,
) {
    let inlet = Lines(ClientReader::new(read));
    let outlet = Written(LineWriter::new(write));
    converse(hub, door, inlet, outlet).await;
}

struct Lines<R>(ClientReader<R>);

impl<R: AsyncRead + Unpin + Send> Inlet for Lines<R> {
    async fn next(&mut self) -> Option<FromClient> {
        // A connection that failed is one that ended.
        self.0.next().await.ok().flatten()
    }
}

struct Written<W>(LineWriter<W>);

impl<W: AsyncWrite + Unpin + Send> Outlet for Written<W> {
    fn add(&mut self, message: Outgoing<'_>) {
        let pushed = match message {
            Outgoing::Notice(notice) => self.0.push(notice),
            Outgoing::Event(event) => self.0.push_event(event),
        };
        pushed.expect("notices, and events after the replacement, are text in JSON");
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        self.0.flush().await.map_err(|_| Gone)
    }

    async fn close(&mut self) {
        // Who is gone needs no end.
        discard!(
            self.0.shutdown().await,
            "a connection was closed without a last message: the client is gone"
        );
    }
}
