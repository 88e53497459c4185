//! Bytes that can be read at any offset: a file, or memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

pub(crate) trait ByteSource {
    fn bytes(&self) -> io::Result<u64>;

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Tells whether `offset` is where a line may begin or end.
    fn is_line_boundary(&self, offset: u64) -> io::Result<bool> {
        if offset == 0 {
            return Ok(true);
        }
        if offset > self.bytes()? {
            return Ok(false);
        }
        let mut byte = [0];
        self.read_exact_at(&mut byte, offset - 1)?;
        Ok(byte == [b'\n'])
    }
}

impl ByteSource for File {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

impl ByteSource for [u8] {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let range = usize::try_from(offset)
            .ok()
            .and_then(|start| Some(start..start.checked_add(buffer.len())?))
            .and_then(|range| self.get(range))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(range);
        Ok(())
    }
}
