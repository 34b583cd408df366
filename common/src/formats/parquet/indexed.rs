//! Values behind a dictionary: which number a value gets, and the body of a page of numbers.

use super::hybrid::HybridWriter;
use super::levels::{push_lists, push_repeated};

/// Distinct words of four bytes, numbered in ascending order of their bits when they are all known.
#[derive(Debug)]
pub struct Words {
    /// Open addressing: 0 is free, other numbers are those of `words`, from 1.
    table: Vec<u32>,
    words: Vec<u32>,
    numbers: Vec<u32>,
}

/// More distinct words than this are better off PLAIN.
const MOST_WORDS: usize = 1 << 16;

impl Default for Words {
    fn default() -> Self {
        Self { table: vec![0; 64], words: vec![], numbers: vec![] }
    }
}

impl Words {
    /// Adds a word. `false` where there are too many for a dictionary.
    pub fn add(&mut self, word: u32) -> bool {
        let at = self.place(word);
        if self.table[at] == 0 {
            self.words.push(word);
            self.table[at] = self.words.len() as u32;
            if self.words.len() * 2 > self.table.len() {
                self.grow();
            }
        }
        self.words.len() <= MOST_WORDS
    }

    /// Numbers the words, and gives them in this order.
    pub fn number(&mut self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.words.len() as u32).collect();
        order.sort_unstable_by_key(|&i| self.words[i as usize]);
        self.numbers = vec![0; order.len()];
        for (number, &i) in order.iter().enumerate() {
            self.numbers[i as usize] = number as u32;
        }
        order.iter().map(|&i| self.words[i as usize]).collect()
    }

    /// Number of a word that was added before the words were numbered.
    pub fn get(&self, word: u32) -> u32 {
        let entry = self.table[self.place(word)];
        debug_assert!(entry > 0, "a word that was never added");
        self.numbers[entry.saturating_sub(1) as usize]
    }

    fn place(&self, word: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (word.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        while self.table[at] != 0 && self.words[self.table[at] as usize - 1] != word {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        self.table = vec![0; self.table.len() * 4];
        for i in 0..self.words.len() {
            let at = self.place(self.words[i]);
            self.table[at] = i as u32 + 1;
        }
    }
}

/// The body of a page of dictionary indices.
#[derive(Debug)]
pub struct IndexedPage(HybridWriter);

impl IndexedPage {
    /// Starts a page of `rows` values, or `rows` lists of `list` values, that refer to a dictionary of `distinct`.
    pub fn new(rows: usize, list: Option<usize>, distinct: usize) -> Self {
        let mut body = vec![];
        if let Some(len) = list {
            push_lists(&mut body, rows, len);
            push_repeated(&mut body, 1, rows * len);
        }
        let bits = (usize::BITS - distinct.saturating_sub(1).leading_zeros()).max(1);
        body.push(bits as u8);
        Self(HybridWriter::new(body, bits as usize))
    }

    /// Appends `n` times the same index.
    pub fn push(&mut self, index: u32, n: usize) {
        self.0.push(index, n);
    }

    /// The body.
    pub fn finish(self) -> Vec<u8> {
        self.0.finish()
    }
}
