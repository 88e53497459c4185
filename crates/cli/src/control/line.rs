//! One line of JSON in each direction, no longer than it may be.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// Reads one line. The other side may close its end after it or not.
pub async fn read<T: DeserializeOwned>(
    source: impl AsyncRead + Unpin,
    bytes_max: u64,
) -> io::Result<T> {
    let mut line = Vec::new();
    let mut source = BufReader::new(source.take(bytes_max));
    source.read_until(b'\n', &mut line).await?;
    if line.last() != Some(&b'\n') {
        return Err(match u64::try_from(line.len()) {
            Ok(length) if length < bytes_max => io::ErrorKind::UnexpectedEof.into(),
            _ => io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line of more than {bytes_max} bytes"),
            ),
        });
    }
    serde_json::from_slice(&line).map_err(io::Error::from)
}

pub async fn write(mut sink: impl AsyncWrite + Unpin, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
    line.push(b'\n');
    sink.write_all(&line).await?;
    sink.flush().await
}
