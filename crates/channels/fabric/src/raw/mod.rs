//! The binary interface of libfabric: the structures, constants and functions that are used, and no
//! others.
//!
//! Names, layouts and values are facts of libfabric's `rdma/fabric.h` and the headers beside it.
//! Most calls are not exported functions but pointers in tables that each object leads to. Each
//! macro also writes a table of what it declared, and `tests/layout.rs` compares these tables with
//! the headers through a C compiler: nothing can be declared here without being compared.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`structures`] | structures that describe: offers, attributes, completions |
//! | [`tables`] | objects and their tables of calls |
//! | [`constants`] | constants |
//! | [`functions`] | the exported functions, as a table filled by name at run time |

/// The beginnings or wholes of structures, and what was declared of them.
macro_rules! structures {
    ($table:ident: $($extent:ident $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $type,)* }

            impl $name {
                /// Returns all bytes zero, which is a value of each of these structures.
                pub fn zeroed() -> $name {
                    // SAFETY: integers, nullable pointers and optional functions: zero is valid for
                    // each.
                    unsafe { std::mem::zeroed() }
                }
            }
        )*

        /// The layouts of the declared structures.
        pub const $table: &[Layout] = &[$(Layout {
            c_type: concat!("struct ", stringify!($name)),
            size: extent!($extent $name),
            alignment: align_of::<$name>(),
            fields: &[$((stringify!($field), offset_of!($name, $field), size_of::<$type>()),)*],
        },)*];
    };
}

macro_rules! extent {
    (whole $name:ident) => {
        Some(size_of::<$name>())
    };
    (begin $name:ident) => {
        None
    };
}

pub mod constants;
pub mod functions;
pub mod structures;
pub mod tables;

pub use constants::*;
pub use functions::Functions;
pub use structures::*;
pub use tables::*;

/// The layout declared for one structure.
#[derive(Debug)]
pub struct Layout {
    /// The structure's type in C.
    pub c_type: &'static str,
    /// The structure's size in bytes; `None` if only its beginning is declared.
    pub size: Option<usize>,
    /// The structure's alignment in bytes.
    pub alignment: usize,
    /// The name, offset and size of each field.
    pub fields: &'static [(&'static str, usize, usize)],
}
