//! Comes before the work of a call where somebody watches ([`crate::state::is_watched`]): the look
//! at its buffers ([`crate::gpu`]) and the trace ([`crate::traced`]). Both close the fast paths,
//! and calls that nobody watches pay one branch off these.

use crate::arguments::{Argument, Parameters, Value};
use crate::gpu;
use crate::report::{self, Owner};
use crate::traced::Made;
use std::ffi::c_int;
use verbena_channel::trace;

/// Does what comes before the work of a call. Returns the call if it is to be noted, with its work
/// done within.
///
/// # Errors
/// The code with which the call ends at once.
#[cold]
#[inline(never)]
pub(crate) fn call(
    function: &'static str,
    parameters: Parameters,
    values: &[Value],
) -> Result<Option<Made>, c_int> {
    if let Some(error) = gpu::error_of(function, parameters, values) {
        let named = parameters.iter().zip(values);
        let arguments: Vec<Argument> = named.map(|((name, kind), value)| (*name, *kind, *value)).collect();
        return Err(report::raise(function, &arguments, owner(function, parameters, values), error.into()));
    }
    Ok(if trace::is_on() { Made::begin(function, parameters, values) } else { None })
}

/// The object that a call with buffers is about.
fn owner(function: &str, parameters: Parameters, values: &[Value]) -> Owner {
    if function.starts_with("MPI_T_") {
        return Owner::Tool;
    }
    let of = |((_, kind), value): (&(&str, &str), &Value)| match (*kind, *value) {
        ("MPI_Comm", Value::Handle(handle)) => Some(Owner::Comm(handle)),
        ("MPI_Win", Value::Handle(handle)) => Some(Owner::Win(handle)),
        ("MPI_File", Value::Handle(handle)) => Some(Owner::File(handle)),
        _ => None,
    };
    parameters.iter().zip(values).find_map(of).unwrap_or(Owner::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_before_the_work_goes_to_the_object_that_the_call_is_about() {
        let parameters: Parameters = &[("buf", "*const c_void"), ("count", "c_int"), ("comm", "MPI_Comm")];
        let values = [Value::Address(4096), Value::Number(1), Value::Handle(5)];
        assert_eq!(owner("MPI_Send", parameters, &values), Owner::Comm(5));
        assert_eq!(owner("MPI_Reduce_local", &parameters[..2], &values[..2]), Owner::None);
        assert_eq!(owner("MPI_T_cvar_read", parameters, &values), Owner::Tool);
    }
}
