//! A bar on a terminal that shows how far a run is, on one line that is overwritten.

use std::io::IsTerminal;

/// The bar.
pub struct Bar {
    done: usize,
    all: usize,
    terminal: bool,
}

/// Characters of the bar, and of the words behind it.
const WIDTH: usize = 30;
const WORDS: usize = 38;

impl Bar {
    /// Creates a bar over `all` steps.
    pub fn new(all: usize) -> Bar {
        Bar { done: 0, all, terminal: std::io::stderr().is_terminal() }
    }

    /// A step begins.
    pub fn step(&mut self, what: &str) {
        if self.terminal {
            eprint!("\r\x1b[2K{}", self.line(what));
        }
        self.done += 1;
    }

    /// Takes the bar off the line, for something else.
    pub fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[2K");
        }
    }

    fn line(&self, what: &str) -> String {
        let full = (self.done * WIDTH / self.all.max(1)).min(WIDTH);
        let what: String = what.chars().take(WORDS).collect();
        format!("[{}{}] {}/{} {what}", "#".repeat(full), ".".repeat(WIDTH - full), self.done, self.all)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_with_the_steps() {
        let bar = |done| Bar { done, all: 3, terminal: false };
        assert!(bar(0).line("x").starts_with("[...") && bar(0).line("x").ends_with("] 0/3 x"));
        assert!(bar(1).line("x").starts_with("[##########."));
        assert!(bar(3).line(&"y".repeat(99)).contains("#] 3/3 y"));
    }
}
