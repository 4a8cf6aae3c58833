//! The book: `docs/SUMMARY.md` and the pages that it names, which mdBook and people without it
//! read.
//!
//! | module | job |
//! | --- | --- |
//! | [`block`] | the fenced blocks of a page, and what a test does with each |
//! | [`links`] | the pages, the links between them, the headings |
//! | [`output`] | compares what a page says is printed with what was printed |
//! | [`place`] | the folder where the examples of a page run, on the staged installation |
//!
//! # Fenced blocks
//!
//! | block | what a test does |
//! | --- | --- |
//! | `sh` | runs it, and wants exit code 0, or N of `sh exit=N`; `needs=a,b` names programs without which it cannot run |
//! | any language with `file=NAME` | writes it to this file, which a later `sh` block of the page names |
//! | `text output` | compares it with what the block before printed; `text output any-order` by lines in any order |
//! | `text drawing` | nothing |
//! | a comment `# not run: WHY` (or after `//`, `!`) in the first two lines | nothing; it is counted, and the reader sees why |
//!
//! In `output` a line `...` stands for any lines, and `...` in a line for any text. The blocks of a
//! page run in one folder, one after the other; variables that a block exports, and the folder that
//! it changes to, stay. `/opt/verbena` stands for the installation.

pub mod block;
pub mod links;
pub mod output;
pub mod place;
