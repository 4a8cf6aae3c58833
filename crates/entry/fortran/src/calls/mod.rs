//! Entry points written by hand: those that no kind of the table describes.
//!
//! | module | what |
//! | --- | --- |
//! | [`init`] | start-up, and what the C library is told of Fortran |
//! | [`attribute`], [`keyval`] | attributes, and procedures that copy and delete them |
//! | [`op`], [`errhandler`], [`grequest`] | other procedures of the program |
//! | [`datarep`], [`no_conversion`] | procedures that convert the elements of files |
//! | [`spawn`] | arrays of strings |
//! | [`string`] | strings whose length goes both ways |
//! | [`values`] | functions, and what has no IERROR |
//! | [`removed`] | MPI-1's INTEGERs that hold addresses |

// The arguments are the program's, so MPI's own rules are the safety rules.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod attribute;
pub mod datarep;
pub mod errhandler;
pub mod grequest;
pub mod init;
pub mod keyval;
pub mod no_conversion;
pub mod op;
pub mod removed;
pub mod spawn;
pub mod string;
pub mod values;
