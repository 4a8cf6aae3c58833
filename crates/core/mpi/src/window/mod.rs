//! Windows: one-sided communication (MPI-5.0, chapter 12).
//!
//! | file | what it does |
//! | --- | --- |
//! | [`apply`] | accumulate calls on the memory of a target |
//! | [`stripe`] | locks of parts of that memory, for what no processor changes at once |
//! | [`lock`] | the lock of a whole target |

pub mod apply;
pub mod lock;
pub mod stripe;
