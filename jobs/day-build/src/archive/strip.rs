//! JSON text without the `visualize` blobs, which are most of a replay's bytes and which nobody reads. Text goes by in
//! pieces; a blob is passed over as it comes, and never held.

use memchr::memmem::find;

const KEY: &[u8] = b"\"visualize\"";
const INSTEAD: &[u8] = b"null";

/// Text so far.
pub(super) struct Strip {
    text: Vec<u8>,
    /// Where the next key may start.
    searched: usize,
    blob: Option<Blob>,
}

/// Within a value that is passed over.
#[derive(Clone, Copy)]
enum Blob {
    /// Before the colon, or before the value.
    Before { colon: bool },
    /// In a value of this depth.
    Value { depth: u32, string: bool, escaped: bool },
    /// In a number or a word, which ends before what follows it.
    Word,
}

impl Strip {
    pub(super) fn new() -> Self {
        Self { text: vec![], searched: 0, blob: None }
    }

    /// Bytes that are kept.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.blob.is_some() {
                piece = self.pass_over(piece);
                continue;
            }
            let before = self.text.len();
            self.text.extend_from_slice(piece);
            let Some(at) = find(&self.text[self.searched..], KEY) else {
                self.searched = self.text.len().saturating_sub(KEY.len() - 1).max(self.searched);
                return;
            };
            // a key is whole only now, so what is behind it lies in this piece
            let end = self.searched + at + KEY.len();
            piece = &piece[end - before..];
            self.text.truncate(end);
            (self.searched, self.blob) = (end, Some(Blob::Before { colon: false }));
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.text
    }

    /// Goes on with a blob and gives what is behind it.
    fn pass_over<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        for (i, &byte) in piece.iter().enumerate() {
            let Some(blob) = self.blob else { return &piece[i..] };
            self.blob = match blob {
                Blob::Before { .. } if byte.is_ascii_whitespace() => Some(blob),
                Blob::Before { colon: false } if byte == b':' => {
                    self.text.push(byte);
                    Some(Blob::Before { colon: true })
                }
                // text, and no key
                Blob::Before { colon: false } => {
                    self.blob = None;
                    return &piece[i..];
                }
                Blob::Before { colon: true } => {
                    self.text.extend_from_slice(INSTEAD);
                    match byte {
                        b'{' | b'[' => Some(Blob::Value { depth: 1, string: false, escaped: false }),
                        b'"' => Some(Blob::Value { depth: 0, string: true, escaped: false }),
                        _ => Some(Blob::Word),
                    }
                }
                Blob::Word if matches!(byte, b',' | b'}' | b']') => {
                    self.blob = None;
                    return &piece[i..];
                }
                Blob::Word => Some(blob),
                Blob::Value { depth, string: true, escaped } => match byte {
                    b'"' if !escaped && depth == 0 => None,
                    b'"' if !escaped => Some(Blob::Value { depth, string: false, escaped: false }),
                    _ => {
                        let escaped = byte == b'\\' && !escaped;
                        Some(Blob::Value { depth, string: true, escaped })
                    }
                },
                Blob::Value { depth, .. } => match byte {
                    b'"' => Some(Blob::Value { depth, string: true, escaped: false }),
                    b'{' | b'[' => {
                        depth.checked_add(1).map(|depth| Blob::Value { depth, string: false, escaped: false })
                    }
                    b'}' | b']' if depth == 1 => None,
                    b'}' | b']' => Some(Blob::Value { depth: depth - 1, string: false, escaped: false }),
                    _ => Some(blob),
                },
            };
        }
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str, pieces: usize) -> String {
        let mut strip = Strip::new();
        text.as_bytes().chunks(pieces).for_each(|piece| strip.push(piece));
        String::from_utf8(strip.finish()).unwrap()
    }

    #[test]
    fn blobs_are_gone_however_the_text_is_cut() {
        let cases = [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"visualize":[{"x":"]}\"\\"},[]],"b":2}"#, r#"{"visualize":null,"b":2}"#),
            (r#"{"visualize" : "a\"b" , "b":2}"#, r#"{"visualize":null , "b":2}"#),
            (r#"{"visualize":-1.5e3}"#, r#"{"visualize":null}"#),
            (r#"["visualize","visualize"]"#, r#"["visualize","visualize"]"#),
            (r#"{"a":"\"visualize\"","b":"visualizer"}"#, r#"{"a":"\"visualize\"","b":"visualizer"}"#),
            (r#"{"x":{"visualize":{}},"visualize":[[]]}"#, r#"{"x":{"visualize":null},"visualize":null}"#),
        ];
        for (text, expected) in cases {
            for pieces in 1..=text.len() {
                assert_eq!(stripped(text, pieces), expected, "{pieces}");
            }
        }
    }
}
