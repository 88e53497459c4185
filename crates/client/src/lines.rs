//! Lines of JSON over a byte stream.

use std::io;

use tokio::io::{ReadHalf, WriteHalf};
use troupe_transport::{
    EventReadError, FromServer, LineWriter, ServerReader, ToServer, WriteError,
};

use crate::connect::Stream;

#[derive(Debug)]
pub(crate) struct LineLink {
    reader: ServerReader<ReadHalf<Stream>>,
    writer: LineWriter<WriteHalf<Stream>>,
}

impl LineLink {
    pub(crate) fn new(stream: Stream) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self {
            reader: ServerReader::new(read),
            writer: LineWriter::new(write),
        }
    }

    pub(crate) async fn next(&mut self) -> io::Result<Option<FromServer>> {
        loop {
            match self.reader.next().await {
                Ok(message) => return Ok(message),
                Err(EventReadError::Unreadable(_)) => {}
                Err(EventReadError::Io(error)) => return Err(error),
            }
        }
    }

    pub(crate) async fn send(&mut self, message: &ToServer) -> io::Result<()> {
        let sent = async {
            match message {
                ToServer::Request(request) => self.writer.push(request)?,
                ToServer::Submission(submission) => self.writer.push(submission.as_ref())?,
            }
            self.writer.flush().await
        };
        sent.await
            .map_err(|error: WriteError| io::Error::other(error))
    }
}
