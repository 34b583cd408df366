//! Spools: records behind their keys, in buckets, in one file. Blocks of a bucket are chained from the last to the
//! first, so a writer needs one buffer a bucket and a reader no index. Order within a bucket means nothing.
//!
//! A digest of all block heads (with their CRCs) ends the file and tells it from any other spool.
//!
//! Block: `bucket u32 | payload length u32 | previous block of the bucket u64 (0: none) | CRC-32 u32 | payload`,
//! little-endian; the CRC covers the fields before it and the payload. Payload: key, then an MPK1 record from the
//! mover's point of view with candidates in ascending order, again and again.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use common::state::digest::{Digest, Digesting};
use serde::{Deserialize, Serialize};

use crate::order::{part_of, part_start};

const MAGIC: &[u8; 8] = b"FLSPOOL1";
const HEAD_LEN: usize = 20;
const CRC_AT: usize = 16;

/// What a bucket holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Records.
    pub records: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Offset of the last block; 0 where there is none.
    pub last: u64,
}

/// Writes a spool from its first byte to its last.
#[derive(Debug)]
pub struct SpoolWriter<W> {
    out: W,
    at: u64,
    block_len: usize,
    buffers: Vec<Vec<u8>>,
    buckets: Vec<Bucket>,
    heads: Digesting<io::Sink>,
}

impl<W: Write> SpoolWriter<W> {
    /// Starts a spool of `buckets` buckets with `block_len` bytes of buffer each.
    pub fn new(mut out: W, buckets: u32, block_len: usize) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let buffers = vec![vec![]; buckets as usize];
        let buckets = vec![Bucket::default(); buckets as usize];
        let heads = Digesting::new(io::sink());
        Ok(Self { out, at: MAGIC.len() as u64, block_len, buffers, buckets, heads })
    }

    /// Adds whole keyed records to a bucket.
    pub fn add(&mut self, bucket: u32, payload: &[u8], records: u64) -> io::Result<()> {
        let i = bucket as usize;
        self.buckets[i].records += records;
        self.buckets[i].bytes += payload.len() as u64;
        if self.buffers[i].len() + payload.len() > self.block_len {
            let buffered = std::mem::take(&mut self.buffers[i]);
            self.write_block(i, &buffered)?;
            self.buffers[i] = buffered;
            self.buffers[i].clear();
        }
        if payload.len() > self.block_len {
            return self.write_block(i, payload);
        }
        if self.buffers[i].capacity() == 0 {
            self.buffers[i].reserve_exact(self.block_len);
        }
        self.buffers[i].extend_from_slice(payload);
        Ok(())
    }

    /// Writes what is buffered, and gives back the output, what each bucket holds, and the digest of the spool.
    pub fn finish(mut self) -> io::Result<(W, Vec<Bucket>, Digest)> {
        for i in 0..self.buffers.len() {
            let buffered = std::mem::take(&mut self.buffers[i]);
            self.write_block(i, &buffered)?;
        }
        let (_, digest, _) = self.heads.finish();
        self.out.write_all(digest.to_string().as_bytes())?;
        Ok((self.out, self.buckets, digest))
    }

    fn write_block(&mut self, i: usize, payload: &[u8]) -> io::Result<()> {
        if payload.is_empty() {
            return Ok(());
        }
        let mut head = [0; HEAD_LEN];
        head[0..4].copy_from_slice(&(i as u32).to_le_bytes());
        head[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        head[8..16].copy_from_slice(&self.buckets[i].last.to_le_bytes());
        let crc = block_crc(&head, payload);
        head[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        self.heads.write_all(&head)?;
        self.out.write_all(&head)?;
        self.out.write_all(payload)?;
        self.buckets[i].last = self.at;
        self.at += (HEAD_LEN + payload.len()) as u64;
        Ok(())
    }
}

fn block_crc(head: &[u8; HEAD_LEN], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&head[..CRC_AT]);
    crc.update(payload);
    crc.finalize()
}

/// A finished spool.
#[derive(Debug)]
pub struct Spool {
    file: File,
    /// How it is named in messages.
    name: PathBuf,
    len: u64,
    buckets: Vec<Bucket>,
}

impl Spool {
    /// A spool of which `buckets` is known. Counts that the file cannot hold, or another digest at its end, are
    /// [`io::ErrorKind::InvalidData`].
    pub fn new(file: File, name: &Path, buckets: Vec<Bucket>, digest: &Digest) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let digest = digest.to_string();
        let mut end = vec![0; digest.len()];
        let at = len.checked_sub(digest.len() as u64);
        let whole = at.is_some_and(|at| file.read_exact_at(&mut end, at).is_ok()) && end == digest.as_bytes();
        let bytes = buckets.iter().try_fold(0u64, |sum, bucket| sum.checked_add(bucket.bytes));
        if !whole || bytes.is_none_or(|bytes| bytes > len) {
            let what = "the spool is cut off, or not the one that its record is of";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Self { file, name: name.into(), len, buckets })
    }

    /// How it is named in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// What each bucket holds.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Appends the payload of each block of a bucket to `out`, and calls `each` with `out` and where the payload starts.
    /// A damaged block is [`io::ErrorKind::InvalidData`].
    pub fn read<E: From<io::Error>>(
        &self,
        bucket: usize,
        out: &mut Vec<u8>,
        mut each: impl FnMut(&mut Vec<u8>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut at, mut left) = (self.buckets[bucket].last, self.buckets[bucket].bytes);
        while at != 0 {
            let start = out.len();
            let previous = self.read_block(bucket, at, out)?;
            left = left.checked_sub((out.len() - start) as u64).ok_or_else(|| damaged(at))?;
            each(out, start)?;
            at = previous;
        }
        if left == 0 { Ok(()) } else { Err(damaged(self.buckets[bucket].last).into()) }
    }

    /// Appends a block's payload and gives the offset of the one before.
    fn read_block(&self, bucket: usize, at: u64, out: &mut Vec<u8>) -> io::Result<u64> {
        let mut head = [0; HEAD_LEN];
        let end = at.saturating_add(HEAD_LEN as u64);
        if end > self.len {
            return Err(damaged(at));
        }
        self.file.read_exact_at(&mut head, at)?;
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (owner, len, crc) = (u32_at(0), u32_at(4), u32_at(CRC_AT));
        let previous = u64::from(u32_at(8)) | u64::from(u32_at(12)) << 32;
        if owner as usize != bucket || end + u64::from(len) > self.len || previous >= at {
            return Err(damaged(at));
        }
        let start = out.len();
        out.resize(start + len as usize, 0);
        self.file.read_exact_at(&mut out[start..], end)?;
        if block_crc(&head, &out[start..]) == crc { Ok(previous) } else { Err(damaged(at)) }
    }

    /// Buckets that hold keys of a range (upper halves).
    pub fn buckets_of(&self, keys: &Range<u128>) -> Range<usize> {
        let part = |upper: u128| part_of(upper as u64, self.buckets.len() as u32) as usize;
        if keys.is_empty() { 0..0 } else { part(keys.start)..part(keys.end - 1) + 1 }
    }

    /// Key range of a bucket, as the upper halves of its keys.
    pub fn key_range(&self, bucket: usize) -> Range<u128> {
        let (bucket, buckets) = (bucket as u64, self.buckets.len() as u64);
        part_start(bucket, buckets)..part_start(bucket + 1, buckets)
    }
}

fn damaged(at: u64) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the block of the spool at byte {at} is damaged"))
}
