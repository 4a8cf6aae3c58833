//! Entry points that are written by hand: what follows from no kind of the table.
//!
//! | module | what |
//! | --- | --- |
//! | [`init`] | start-up, and what the C library is told of Fortran |
//! | [`attribute`], [`keyval`] | attributes, and procedures that copy and delete them |
//! | [`op`], [`errhandler`], [`grequest`] | other procedures of the program |
//! | [`string`] | strings whose length goes both ways |
//! | [`values`] | functions, and what has no IERROR |
//! | [`removed`] | MPI-1's INTEGERs that hold addresses |

// Arguments are the program's: the safety is MPI's own rules.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod attribute;
pub mod errhandler;
pub mod grequest;
pub mod init;
pub mod keyval;
pub mod op;
pub mod removed;
pub mod string;
pub mod values;
