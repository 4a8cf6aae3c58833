//! Errors that ended ranks. Many ranks tend to fail alike: each text is told once, and then who
//! said the same. No I/O.

use std::collections::VecDeque;
use verbena_hang::words;

/// The errors of a job's ranks.
#[derive(Debug, Default)]
pub struct RankErrors {
    texts: Vec<Text>,
    /// Indices of the texts that were not told yet.
    untold: VecDeque<usize>,
}

/// A text, and the ranks that said it.
#[derive(Debug)]
struct Text {
    /// The text without its numbers: those of ranks and addresses differ.
    pattern: String,
    text: String,
    ranks: Vec<u32>,
}

impl RankErrors {
    /// Adds what a rank said.
    pub fn add(&mut self, rank: u32, text: String) {
        let pattern = without_numbers(&text);
        match self.texts.iter_mut().find(|known| known.pattern == pattern) {
            Some(known) => known.ranks.push(rank),
            None => {
                self.untold.push_back(self.texts.len());
                self.texts.push(Text { pattern, text, ranks: vec![rank] });
            }
        }
    }

    /// Takes the next text that was not told yet, and the first rank that said it.
    pub fn poll_text(&mut self) -> Option<(u32, String)> {
        let text = &self.texts[self.untold.pop_front()?];
        Some((text.ranks[0], text.text.clone()))
    }

    /// Sentences about the ranks that said what another one had said before.
    pub fn repeated(&self) -> Vec<String> {
        let repeated = self.texts.iter().filter(|text| text.ranks.len() > 1);
        let sentence = |text: &Text| {
            let (first, others) = (text.ranks[0], words::ranks(&text.ranks[1..]));
            format!("{others} failed in the same way as rank {first}")
        };
        repeated.map(sentence).collect()
    }
}

/// The text with a mark in place of each number.
fn without_numbers(text: &str) -> String {
    let mut pattern = String::new();
    let mut is_number = false;
    for letter in text.chars() {
        // An address in hexadecimal begins with a digit.
        let goes_on = is_number && (letter.is_ascii_hexdigit() || letter == 'x');
        if letter.is_ascii_digit() || goes_on {
            if !is_number {
                pattern.push('#');
            }
            is_number = true;
        } else {
            is_number = false;
            pattern.push(letter);
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rank: u32) -> String {
        format!("process {rank} of 4: MPI_Recv(buf=0x7ff{rank}ab0, count=3) failed: cut")
    }

    #[test]
    fn ranks_that_fail_alike_are_told_of_once() {
        let mut errors = RankErrors::default();
        for rank in [2, 0, 3] {
            errors.add(rank, text(rank));
        }
        errors.add(1, "process 1 of 4: MPI_Send failed".into());
        assert_eq!(errors.poll_text(), Some((2, text(2))));
        assert_eq!(errors.poll_text().map(|(rank, _)| rank), Some(1));
        assert_eq!(errors.poll_text(), None);
        assert_eq!(errors.repeated(), ["ranks 0, 3 failed in the same way as rank 2"]);
    }

    #[test]
    fn words_are_compared_without_numbers() {
        assert_eq!(without_numbers("a1b 0x7ffe12, 300 bytes"), "a# #, # bytes");
        assert_ne!(without_numbers("MPI_Send failed"), without_numbers("MPI_Recv failed"));
    }
}
