//! Pieces of whole lines, so that lines can be parsed on any thread.

use std::io::{self, Read};

/// Bytes that a piece aims at.
const PIECE_LEN: usize = 1 << 18;
/// Longest line, so that a file without ends of line does not fill the memory.
pub(crate) const MAX_LINE: usize = 256 << 20;

/// Whole lines, and the number of the first (from 1).
pub(crate) struct Lines {
    pub(crate) first: u64,
    bytes: Vec<u8>,
}

impl Lines {
    /// Lines with their numbers; empty ones are passed over.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let lines = self.bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        (self.first..).zip(lines).filter(|(_, line)| !line.is_empty())
    }
}

/// Takes a byte order mark off, and names a file that has no lines.
fn strip_start(bytes: &mut Vec<u8>) -> io::Result<()> {
    if bytes.starts_with(b"PAR1") {
        let what = "a Parquet file where lines of JSON are expected";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Ok(())
}

/// Cuts an input into pieces of whole lines.
pub(crate) struct LineReader<R> {
    input: R,
    carry: Vec<u8>,
    next: u64,
    ended: bool,
    eager: bool,
}

impl<R: Read> LineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, carry: vec![], next: 1, ended: false, eager: false }
    }

    /// Gives lines as soon as they are whole, for a pipe whose writer takes its time.
    pub(crate) fn eager(input: R) -> Self {
        Self { eager: true, ..Self::new(input) }
    }

    /// The next lines; `None` at the end. The last line may lack its end.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Lines>> {
        let mut bytes = std::mem::take(&mut self.carry);
        loop {
            let searched = bytes.len();
            if !self.ended {
                self.read_more(&mut bytes)?;
            }
            if self.next == 1 && searched == 0 {
                strip_start(&mut bytes)?;
            }
            let end = match bytes[searched..].iter().rposition(|&byte| byte == b'\n') {
                _ if self.ended => bytes.len(),
                Some(at) => searched + at + 1,
                None if bytes.len() > MAX_LINE => {
                    let what = format!("line {} is longer than {} MiB", self.next, MAX_LINE >> 20);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                None => continue,
            };
            self.carry = bytes.split_off(end);
            let first = self.next;
            self.next += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
            return Ok((!bytes.is_empty()).then_some(Lines { first, bytes }));
        }
    }

    fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        if !self.eager {
            self.ended = self.input.by_ref().take(PIECE_LEN as u64).read_to_end(bytes)? < PIECE_LEN;
            return Ok(());
        }
        let mut piece = [0; 1 << 13];
        let n = loop {
            match self.input.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        bytes.extend_from_slice(&piece[..n]);
        self.ended = n == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_across_pieces() {
        let text: String = (1..60_000).map(|n| format!("{n}\n\r\n")).collect();
        let mut reader = LineReader::new(text.trim_end().as_bytes());
        let mut found = vec![];
        while let Some(piece) = reader.next_piece().unwrap() {
            found.extend(
                piece.iter().map(|(n, line)| (n, std::str::from_utf8(line).unwrap().parse::<u64>().unwrap())),
            );
        }
        assert_eq!(found, (1..60_000).map(|n| (2 * n - 1, n)).collect::<Vec<_>>());
    }
}
