//! The fenced blocks of a page.

/// The words before the reason why a block is not run.
const NOT_RUN: &str = "not run: ";
/// The marks with which a comment of some language begins.
const COMMENTS: [&str; 4] = ["#", "//", "!", "--"];

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The number of the line with the fence that opens it, from 1.
    pub line: usize,
    /// The first word behind the fence.
    pub language: String,
    /// The other words behind the fence.
    pub words: Vec<String>,
    /// The lines of the block, each with its end.
    pub text: String,
}

/// The use of a block in a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Write the block to the file of this name.
    Write(String),
    /// Run the block as a shell script.
    Run {
        /// The exit code that it must have.
        code: i32,
        /// The programs without which it cannot run.
        needs: Vec<String>,
    },
    /// Compare the block with what the one before printed.
    Compare {
        /// True if the lines may come in any order.
        any_order: bool,
    },
    /// Nothing, for this reason, which the page tells its reader.
    Leave(String),
    /// Nothing: it is a picture.
    Show,
}

/// Returns the fenced blocks of a page, in order.
///
/// # Errors
/// The last block does not end.
pub fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (line, text) in (1..).zip(page.lines()) {
        match (open.take(), text.strip_prefix("```")) {
            (None, Some(info)) => open = Some(opened(line, info)),
            (Some(block), Some(_)) => blocks.push(block),
            (Some(mut block), None) => {
                block.text.push_str(text);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    match open {
        None => Ok(blocks),
        Some(block) => Err(format!("line {}: the block does not end", block.line)),
    }
}

fn opened(line: usize, info: &str) -> Block {
    let mut words = info.split_whitespace().map(str::to_owned);
    let language = words.next().unwrap_or_default();
    Block { line, language, words: words.collect(), text: String::new() }
}

impl Block {
    /// Decides what a test does with the block.
    ///
    /// # Errors
    /// The words behind the fence say nothing that the convention knows.
    pub fn task(&self) -> Result<Task, String> {
        if let Some(why) = self.why_not() {
            return Ok(Task::Leave(why.to_owned()));
        }
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        match (self.language.as_str(), words.as_slice()) {
            (_, [word]) if word.starts_with("file=") => Ok(Task::Write(word["file=".len()..].to_owned())),
            ("sh", words) => self.run(words),
            ("text", ["output"]) => Ok(Task::Compare { any_order: false }),
            ("text", ["output", "any-order"]) => Ok(Task::Compare { any_order: true }),
            ("text", ["drawing"]) => Ok(Task::Show),
            _ => Err(self.unknown()),
        }
    }

    fn run(&self, words: &[&str]) -> Result<Task, String> {
        let (mut code, mut needs) = (0, Vec::new());
        for word in words {
            match word.split_once('=') {
                Some(("exit", number)) => code = number.parse().map_err(|_| self.unknown())?,
                Some(("needs", names)) => needs = names.split(',').map(str::to_owned).collect(),
                _ => return Err(self.unknown()),
            }
        }
        Ok(Task::Run { code, needs })
    }

    /// The reason in one of the block's first two lines why it is not run. Some files must begin
    /// with a line of their own.
    fn why_not(&self) -> Option<&str> {
        let comment = |line| COMMENTS.iter().find_map(|mark| str::strip_prefix(line, mark));
        let mut comments = self.text.lines().take(2).filter_map(comment);
        comments.find_map(|comment| comment.trim_start().strip_prefix(NOT_RUN))
    }

    fn unknown(&self) -> String {
        format!(
            "line {}: \"{} {}\" says nothing that tests/src/book knows",
            self.line,
            self.language,
            self.words.join(" ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(page: &str) -> Vec<Result<Task, String>> {
        blocks(page).expect("blocks that end").iter().map(Block::task).collect()
    }

    #[test]
    fn each_word_behind_a_fence_has_its_task() {
        let page = "a\n```sh\nls\n```\n```sh exit=3 needs=gdb,ssh\nx\n```\n```c file=a.c\nint a;\n```\n\
                    ```sh file=a.sh\nls\n```\n```text output\nb\n```\n```text output any-order\nb\n```\n```text drawing\n+-+\n```\n";
        let run = |code, needs: &[&str]| {
            Ok(Task::Run { code, needs: needs.iter().map(|name| (*name).to_owned()).collect() })
        };
        let expected = [
            run(0, &[]),
            run(3, &["gdb", "ssh"]),
            Ok(Task::Write("a.c".into())),
            Ok(Task::Write("a.sh".into())),
            Ok(Task::Compare { any_order: false }),
            Ok(Task::Compare { any_order: true }),
            Ok(Task::Show),
        ];
        assert_eq!(tasks(page), expected);
    }

    #[test]
    fn a_reason_in_the_first_line_leaves_a_block_out() {
        let left = |why: &str| Ok(Task::Leave(why.into()));
        let page = "```sh\n# not run: no Slurm\nsbatch x\n```\n```fortran\n! not run: old\n```\n```c\n// not run: x\n```\n";
        assert_eq!(tasks(page), [left("no Slurm"), left("old"), left("x")]);
        assert_eq!(tasks("```sh\n#!/bin/sh\n# not run: no Slurm\nx\n```\n"), [left("no Slurm")]);
    }

    #[test]
    fn a_block_without_a_task_is_an_error() {
        for page in [
            "```\nx\n```\n",
            "```c\nx\n```\n",
            "```sh run\nx\n```\n",
            "```text\nx\n```\n",
            "```sh exit=x\nx\n```\n",
        ] {
            assert!(tasks(page)[0].is_err(), "{page}");
        }
        assert!(blocks("```sh\nls\n").is_err());
    }

    #[test]
    fn text_and_line_are_kept() {
        let all = blocks("one\n\n```sh\nls\n\nls\n```\n").expect("blocks that end");
        assert_eq!((all[0].line, all[0].text.as_str()), (3, "ls\n\nls\n"));
    }
}
