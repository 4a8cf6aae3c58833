//! Writes the manual pages of the functions, `man/man3/MPI_X.3`, in the macros of mdoc(7).

mod apart;

use super::errors::Errors;
use super::function::{Form, Function, Parameter};
use super::kind::Direction;
use super::output::Output;
use super::table::{Family, Table};
use super::words::{Sentence, Words, lower};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The folder of the pages in the tree.
const FOLDER: &str = "docs/man/man3";
/// The date of the pages: that of the standard which they describe.
const DATE: &str = "June 5, 2025";
/// Names the manual for groff, whose header and foot are those of BSD else. It stands behind the
/// date, with which groff loads the macros that have the defaults.
const HEADER: &str = ".ds doc-volume-operating-system Verbena\n.ds doc-default-operating-system Verbena";
/// The widest line of running text: longer ones are hard to compare.
const COLUMNS: usize = 76;
/// The remark on functions that need no MPI.
const ANY_TIME: &str = "It may be called before MPI_Init and after MPI_Finalize.";
/// The longest name of a function with its first argument that surely fits a line of a terminal.
const HEAD_MAX: usize = 64;

/// The pages: one for each function with its large form, and one for all forms of a collective;
/// further names lead to it. `fortran` are the names of C's functions that Fortran has too.
pub(crate) fn write(
    table: &Table,
    words: &Words,
    errors: &Errors,
    fortran: &BTreeSet<String>,
) -> Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for family in &table.families {
        let heads = family.functions.iter().filter(|function| is_head(function));
        for function in heads {
            let forms: Vec<&Function> =
                family.functions.iter().filter(|other| other.body() == function.body()).collect();
            let name = function.c_name();
            let text = page(words, errors, family, &forms, fortran.contains(&name))?;
            outputs.push(Output::new(&path(&name), text));
            let others: Vec<String> = names(&forms).into_iter().filter(|other| *other != name).collect();
            outputs.extend(others.iter().map(|other| link(other, &name)));
        }
    }
    outputs.extend(apart::write(table)?);
    Ok(outputs)
}

/// The page of a further name of a function, which leads to its page.
fn link(name: &str, head: &str) -> Output {
    Output::new(&path(name), format!(".\\\" {}\n.so man3/{head}.3\n", super::output::IN_TREE))
}

/// The beginning of a page with these names, up to the sentence on them.
fn opening(names: &[String], sentence: &str) -> Result<String> {
    let mut text = format!(".\\\" {}\n.Dd {DATE}\n", super::output::IN_TREE);
    writeln!(text, "{HEADER}\n.Dt {} 3\n.Os\n.Sh NAME", names[0].to_uppercase())?;
    writeln!(text, ".Nm {}\n.Nd {sentence}\n.Sh SYNOPSIS", names.join(" ,\n.Nm "))?;
    Ok(text)
}

fn path(name: &str) -> String {
    format!("{FOLDER}/{name}.3")
}

/// Returns whether a function has a page of its own.
fn is_head(function: &Function) -> bool {
    matches!(function.collective, None | Some((Form::Blocking, _)))
}

/// The C names of these functions in all forms.
fn names(functions: &[&Function]) -> Vec<String> {
    functions.iter().flat_map(|function| function.forms()).map(|(name, _)| name).collect()
}

fn page(
    words: &Words,
    errors: &Errors,
    family: &Family,
    forms: &[&Function],
    in_fortran: bool,
) -> Result<String> {
    let (head, sentence) = (forms[0], words.sentence(forms[0])?);
    let mut text = opening(&names(forms), &lower(sentence.text.trim_end_matches('.')))? + ".In mpi.h\n";
    for function in forms {
        for (name, large) in function.forms() {
            synopsis(&mut text, function, &name, large)?;
        }
    }
    text += ".Sh DESCRIPTION\n";
    text += &running(&sentence.text);
    text += &arguments(words, forms)?;
    text += &remarks(family, forms);
    text += &fortran_remark(head, in_fortran);
    text += &outcome(errors, forms);
    text += &standard(&sentence);
    Ok(text)
}

fn synopsis(text: &mut String, function: &Function, name: &str, large: bool) -> Result<()> {
    let result = function.returns.as_ref().map_or("int ".into(), |kind| kind.ctype(false).prefix());
    writeln!(text, ".Ft {}\n.Fo {name}", result.trim())?;
    let parameters: Vec<String> =
        function.parameters(large).map(|p| p.kind.ctype(large).declare(&p.name)).collect();
    let more = function.variadic.then(|| "...".to_owned());
    let none = parameters.is_empty() && more.is_none();
    let all = parameters.into_iter().chain(more).chain(none.then(|| "void".to_owned()));
    for (at, parameter) in all.enumerate() {
        // The first one and the name are one word for formatters, unless they are told.
        let is_long = at == 0 && name.len() + parameter.len() > HEAD_MAX;
        writeln!(text, ".Fa \"{}{parameter}\"", if is_long { "\\:" } else { "" })?;
    }
    writeln!(text, ".Fc")?;
    Ok(())
}

/// Every argument of any form once, with what it is.
fn arguments(words: &Words, forms: &[&Function]) -> Result<String> {
    let (mut text, mut seen) = (String::new(), BTreeSet::new());
    for parameter in forms.iter().flat_map(|function| &function.parameters) {
        if !seen.insert(&parameter.name) {
            continue;
        }
        let is = words.argument(&parameter.name)?;
        writeln!(text, ".It Fa {}", parameter.name)?;
        text += &running(&format!("{}{is}{}.", direction(parameter), conditions(parameter)));
    }
    Ok(if text.is_empty() { text } else { format!(".Bl -tag -width Ds\n{text}.El\n") })
}

/// The word for the direction of an argument.
fn direction(parameter: &Parameter) -> &'static str {
    match parameter.kind.direction {
        Direction::In => "",
        Direction::Out => "(out) ",
        Direction::InOut => "(in and out) ",
    }
}

/// The conditions under which an argument counts, in words.
fn conditions(parameter: &Parameter) -> String {
    use super::function::Condition;
    let words = |condition: &Condition| match condition {
        Condition::Root => "; counts at the root only".to_owned(),
        Condition::Leaf => "; does not count at the root of an intercommunicator".to_owned(),
        Condition::Party => "; counts at the root and on the other side of an intercommunicator".to_owned(),
        Condition::Given(buffer) => format!("; does not count if {buffer} is MPI_IN_PLACE"),
    };
    let large = if parameter.large_only { "; in the form with _c only" } else { "" };
    parameter.conditions.iter().map(words).collect::<String>() + large
}

/// The rest of the description: forms, deprecation, times of use.
fn remarks(family: &Family, forms: &[&Function]) -> String {
    let head = forms[0];
    let mut text = String::new();
    let mut remark = |words: &str| text += &format!(".Pp\n{}", running(words));
    if head.large {
        remark("The form with _c has counts of type MPI_Count, for more than 2147483647 elements.");
    }
    if head.collective.is_some() {
        remark(
            "All ranks of the communicator call it, in the same order as other collectives. The form with I \
             returns at once, and MPI_Wait or MPI_Test completes it; the form with _init makes a request that \
             MPI_Start starts, again and again.",
        );
    }
    if head.once {
        remark("A program calls MPI_Init or MPI_Init_thread once, and MPI_Finalize once after that.");
    } else if head.before_init {
        remark(ANY_TIME);
    }
    match &head.deprecated {
        _ if family.removed => remark("MPI-3.0 removed it; the library has it for old programs."),
        Some(version) => remark(&format!("It is deprecated since MPI-{version}.")),
        None => {}
    }
    text
}

/// The sentence on the function's form in Fortran.
fn fortran_remark(head: &Function, in_fortran: bool) -> String {
    let words = match (in_fortran, head.returns.is_some()) {
        (true, false) => {
            "Fortran has it as a subroutine of mpif.h and of the modules mpi and mpi_f08, with the error code as one \
             more argument at the end, which may be left out with mpi_f08."
        }
        (true, true) => "Fortran has it as a function of mpif.h and of the modules mpi and mpi_f08.",
        (false, _) => "Fortran has it not.",
    };
    format!(".Pp\n{}", running(words))
}

/// The section on what a function returns, and the errors that it can have.
fn outcome(errors: &Errors, forms: &[&Function]) -> String {
    let head = forms[0];
    if head.returns.is_some() {
        return ".Sh RETURN VALUES\nIt returns the value, and has no error.\n".into();
    }
    let mut text =
        format!(".Sh RETURN VALUES\n.Dv MPI_SUCCESS ,\nor an error code.\n{}", running(&handler(head)));
    let errors = errors.of(forms);
    if !errors.is_empty() {
        text += ".Sh ERRORS\n.Bl -tag -width Ds\n";
        for (class, words) in errors {
            text += &format!(".It Dv {class}\n{}", running(words));
        }
        text += ".El\n";
    }
    text
}

/// The sentence on the error handler that gets an error of a function.
fn handler(head: &Function) -> String {
    if head.is_of_tool() {
        return "An error is returned; no error handler is called.".into();
    }
    let of = head.parameters.iter().find(|parameter| {
        let is_given = parameter.kind.direction != Direction::Out;
        is_given && matches!(parameter.kind.base.as_str(), "comm" | "win" | "file" | "session")
    });
    let of = of.map_or("", |parameter| parameter.kind.base.as_str());
    let (whose, initial) = match (head.owner.as_deref(), of) {
        (Some("errhandler"), _) => ("that is given", ""),
        (Some(_), _) => ("of MPI_FILE_NULL", "; the one that is set at first returns the error code"),
        (None, "file") => ("of the file", "; the one that is set at first returns the error code"),
        (None, "session") => ("of the session", "; it is the one that MPI_Session_init was given"),
        (None, "win") => ("of the window", "; the one that is set at first ends the job"),
        (None, "comm") => ("of the communicator", "; the one that is set at first ends the job"),
        (None, _) => ("of MPI_COMM_SELF", "; the one that is set at first ends the job"),
    };
    format!(
        "At an error the error handler {whose} is called{initial}. If it returns, the error code is returned."
    )
}

fn standard(sentence: &Sentence<'_>) -> String {
    if sentence.is_of_extension() {
        return ".Sh STANDARDS\nNone: an extension.\n".into();
    }
    let names = if sentence.section.contains('.') { "section" } else { "chapter" };
    format!(".Sh STANDARDS\nMPI-5.0, {names} {}.\n", sentence.section)
}

/// Running text: a sentence begins a line, and no line is wide or taken for a macro.
fn running(text: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && (line.ends_with('.') || line.len() + 1 + word.len() > COLUMNS) {
            lines.push(word.into());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    let safe = |line: String| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line };
    lines.into_iter().map(|line| safe(line.replace('\\', "\\e")) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    fn pages() -> Vec<Output> {
        let table = Table::load(&root().join("api")).unwrap();
        let words = Words::load(&root().join("api"), &table.families).unwrap();
        let fortran = ["MPI_Gather", "MPI_Wtime"].map(str::to_owned);
        let errors = Errors::load(&root().join("api"), &table.families).unwrap();
        write(&table, &words, &errors, &fortran.into_iter().collect()).unwrap()
    }

    #[test]
    fn every_function_of_the_standard_has_a_page_or_leads_to_one() {
        let pages = pages();
        let names: BTreeSet<&str> = pages.iter().filter_map(|page| page.path.file_stem()?.to_str()).collect();
        assert_eq!(names.len(), pages.len(), "no page twice");
        // 662 of the standard, ten that it removed, 14 extensions, 28 of mpi.h alone, and two of
        // Fortran alone.
        assert_eq!(pages.len(), 672 + 14 + 28 + 2);
        assert!(
            ["Comm_c2f", "Win_f2c", "Sizeof", "F_sync_reg"]
                .iter()
                .all(|name| { names.contains(format!("MPI_{name}").as_str()) })
        );
        assert!(
            ["c2f", "f2c", "c2f08", "f082c", "f082f", "f2f08"]
                .iter()
                .all(|form| { names.contains(format!("MPI_Status_{form}").as_str()) })
        );
        let link = pages.iter().find(|page| page.path.ends_with("MPI_Ibcast_c.3")).unwrap();
        assert!(link.text.ends_with(".so man3/MPI_Bcast.3\n"), "{}", link.text);
    }

    #[test]
    fn a_page_has_arguments_errors_and_the_section() {
        let pages = pages();
        let page = pages.iter().find(|page| page.path.ends_with("MPI_Gather.3")).unwrap();
        for text in [
            ".Nm MPI_Gather_init_c\n.Nd gathers equal parts from all ranks at the root\n",
            ".Fa \"const void *sendbuf\"\n",
            ".It Fa recvbuf\n(out) memory for what is received.\n",
            ".It Fa recvcount\nnumber of elements from each rank; counts at the root only.\n",
            ".It Dv MPI_ERR_ROOT\n",
            ".Sh STANDARDS\nMPI-5.0, section 6.5.\n",
            "Fortran has it as a subroutine of mpif.h",
        ] {
            assert!(page.text.contains(text), "{text}: {}", page.text);
        }
        let text = |name: &str| &pages.iter().find(|page| page.path.ends_with(name)).unwrap().text;
        assert!(text("MPI_Wtime.3").contains("Fortran has it as a function of mpif.h"));
        assert!(text("MPI_T_init_thread.3").contains("Fortran has it not."));
    }

    #[test]
    fn a_page_tells_when_to_call_and_whose_error_handler_is_called() {
        let pages = pages();
        let text = |name: &str| {
            let page = pages.iter().find(|page| page.path.ends_with(format!("{name}.3"))).expect(name);
            page.text.replace('\n', " ")
        };
        for name in ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"] {
            assert!(
                !text(name).contains("may be called before") && text(name).contains(".Sh ERRORS"),
                "{name}"
            );
        }
        for name in ["MPI_Initialized", "MPI_Comm_f2c", "MPI_Status_c2f", "MPIX_Query_cuda_support"] {
            assert!(
                text(name).contains("It may be called before MPI_Init and after MPI_Finalize."),
                "{name}"
            );
        }
        for (name, words) in [
            (
                "MPI_File_write_at",
                "the error handler of the file is called; the one that is set at first returns",
            ),
            (
                "MPI_File_open",
                "error handler of MPI_FILE_NULL is called; the one that is set at first returns",
            ),
            ("MPI_Register_datarep", "of MPI_FILE_NULL is called; the one that is set at first returns"),
            ("MPI_Session_init", "the error handler that is given is called. If it returns"),
            ("MPI_Session_get_info", "the one that MPI_Session_init was given"),
            ("MPI_Win_create", "the communicator is called; the one that is set at first ends the job"),
            ("MPI_Put", "the window is called; the one that is set at first ends the job"),
            ("MPI_Wait", "of MPI_COMM_SELF is called; the one that is set at first ends the job"),
        ] {
            assert!(text(name).contains(words), "{name}: {}", text(name));
        }
    }

    #[test]
    fn a_long_name_may_stand_on_another_line_than_the_first_argument() {
        let pages = pages();
        let name = "MPI_Session_create_errhandler";
        let page = pages.iter().find(|page| page.path.ends_with(format!("{name}.3"))).unwrap();
        let head = format!(".Fo {name}\n.Fa \"\\:MPI_Session_errhandler_function *session_errhandler_fn\"\n");
        assert!(page.text.contains(&head), "{}", page.text);
        assert!(pages.iter().all(|page| !page.text.contains("\n.Fa \"\\:MPI_Comm comm\"")));
    }

    #[test]
    fn running_text_has_a_line_for_a_sentence_and_no_macros() {
        assert_eq!(running("One. .Two \\x."), "One.\n\\&.Two \\ex.\n");
        let long = running(&"word ".repeat(40));
        assert!(long.lines().count() > 2 && long.lines().all(|line| line.len() <= COLUMNS), "{long}");
    }
}
