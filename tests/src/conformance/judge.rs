//! The judgement of a run by its output and exit code, with the rules of `runtests`, MPICH's own
//! script.
//!
//! A program that is right prints one line `No Errors`, nothing else, and ends with exit code 0.
//! Programs that are meant to be ended by the library have another rule, named in the test list.

/// The rule by which a program is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The output is one line `No Errors`, nothing else, and the exit code 0.
    #[default]
    Plain,
    /// The output is one line `No Errors`, and the library may warn; exit code 0.
    Warned,
    /// The exit code must not be 0; any output will do.
    Fatal,
    /// `No Errors`, and an exit code that is not 0.
    FatalAfterwards,
}

impl Rule {
    /// The rule of this name in a test list.
    pub fn named(name: &str) -> Rule {
        match name {
            "TestStatus" | "TestErrFatal" => Rule::Fatal,
            "TestStatusNoErrors" => Rule::FatalAfterwards,
            "TestAllowWarnings" => Rule::Warned,
            _ => Rule::Plain,
        }
    }
}

/// The kinds of lines in the output.
#[derive(Default)]
struct Said {
    no_errors: bool,
    skipped: bool,
    warnings: bool,
    other: bool,
}

impl Said {
    fn of(lines: &[String]) -> Said {
        let mut said = Said::default();
        for line in lines {
            match line.trim() {
                // The second one is already too much.
                "No Errors" | "No errors" if !said.no_errors => said.no_errors = true,
                "Test Skipped" => said.skipped = true,
                _ if is_warning(line) => said.warnings = true,
                _ => said.other = true,
            }
        }
        said
    }
}

fn is_warning(line: &str) -> bool {
    let starts = ["MPICH: ", "WARNING: ", "application called MPI_Abort"];
    let aborted = line.starts_with("Abort") && line.contains("application called MPI_Abort");
    aborted || starts.iter().any(|start| line.starts_with(start))
}

/// The judgement of one run that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The rule was kept.
    Right,
    /// The program says that it cannot be run here.
    Skipped,
    /// The rule was broken: the complaints.
    Wrong(String),
}

/// Judges the output and the exit code.
pub fn judge(rule: Rule, lines: &[String], code: i32) -> Judgement {
    let said = Said::of(lines);
    let complaints = complaints(rule, &said, code);
    match (complaints.is_empty(), said.skipped && rule != Rule::Fatal) {
        (true, false) => Judgement::Right,
        (true, true) => Judgement::Skipped,
        (false, _) => Judgement::Wrong(complaints.join("; ")),
    }
}

fn complaints(rule: Rule, said: &Said, code: i32) -> Vec<String> {
    let must_fail = matches!(rule, Rule::Fatal | Rule::FatalAfterwards);
    let mut complaints = Vec::new();
    if must_fail && code == 0 {
        complaints.push("exit code 0".to_owned());
    }
    if rule == Rule::Fatal {
        return complaints;
    }
    if !said.no_errors && !said.skipped {
        complaints.push("no line \"No Errors\"".to_owned());
    }
    if said.other || (said.warnings && rule == Rule::Plain) {
        complaints.push("other output".to_owned());
    }
    if !must_fail && code != 0 {
        complaints.push(format!("exit code {code}"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rule: Rule, text: &str, code: i32) -> Judgement {
        judge(rule, &text.lines().map(str::to_owned).collect::<Vec<_>>(), code)
    }

    fn wrong(rule: Rule, text: &str, code: i32) -> bool {
        matches!(judged(rule, text, code), Judgement::Wrong(_))
    }

    #[test]
    fn one_line_and_exit_code_0_is_right() {
        assert_eq!(judged(Rule::Plain, " No Errors\n", 0), Judgement::Right);
        assert_eq!(judged(Rule::Plain, "Test Skipped\n", 0), Judgement::Skipped);
    }

    #[test]
    fn all_else_is_wrong() {
        for (text, code) in
            [("", 0), ("No Errors\n", 1), ("No Errors\nNo Errors\n", 0), ("x\nNo Errors\n", 0)]
        {
            assert!(wrong(Rule::Plain, text, code), "{text:?} {code}");
        }
        assert!(wrong(Rule::Plain, "WARNING: x\nNo Errors\n", 0));
        assert!(wrong(Rule::Plain, "\nNo Errors\n", 0), "an empty line is output");
    }

    #[test]
    fn other_rules_hold_where_a_list_names_them() {
        let fatal = Rule::named("TestErrFatal");
        assert_eq!(judged(fatal, "anything\n", 3), Judgement::Right);
        assert!(wrong(fatal, "No Errors\n", 0));
        let after = Rule::named("TestStatusNoErrors");
        assert_eq!(judged(after, "No Errors\n", 1), Judgement::Right);
        assert!(wrong(after, "No Errors\n", 0) && wrong(after, "", 1));
        let warned = Rule::named("TestAllowWarnings");
        assert_eq!(judged(warned, "WARNING: x\nNo Errors\n", 0), Judgement::Right);
    }
}
