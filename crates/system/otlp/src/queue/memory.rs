//! The queue in memory, which ends with the process.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Batch, Books, TOGETHER};

/// Overhead of a record besides its text, in bytes.
const AROUND: u64 = 32;

#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    head: Arc<str>,
    records: VecDeque<String>,
    bytes: u64,
    books: Books,
}

impl Memory {
    pub(super) fn new(limit: u64, head: &str) -> Self {
        Self {
            limit,
            head: head.into(),
            records: VecDeque::new(),
            bytes: 0,
            books: Books::default(),
        }
    }

    pub(super) fn push(&mut self, record: &str) {
        self.records.push_back(record.to_owned());
        self.bytes += size(record);
        while self.bytes > self.limit && self.records.len() > 1 {
            let next = self.books.cursor.next;
            self.pop();
            self.books.evict(next..next + 1);
        }
    }

    pub(super) fn batch(&mut self, records: usize) -> Option<Batch> {
        let mut bytes = 0;
        let fitting = self.records.iter().take(records).take_while(|record| {
            let is_first = bytes == 0;
            bytes += record.len();
            is_first || bytes <= TOGETHER
        });
        let records: Vec<String> = fitting.cloned().collect();
        if records.is_empty() {
            return None;
        }
        self.books.fly(records.len());
        Some(Batch {
            head: Arc::clone(&self.head),
            records,
        })
    }

    pub(super) fn acknowledge(&mut self, refused: u64) {
        for _ in 0..self.books.landed(refused) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(record) = self.records.pop_front() {
            self.bytes -= size(&record);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn records(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn books(&self) -> &Books {
        &self.books
    }

    pub(super) fn books_mut(&mut self) -> &mut Books {
        &mut self.books
    }
}

fn size(record: &str) -> u64 {
    record.len() as u64 + AROUND
}
