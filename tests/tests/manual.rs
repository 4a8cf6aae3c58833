//! Manual pages and completions, as they are installed: they are well formed, every function and
//! command has a page, and shells take the completions.

use std::path::PathBuf;
use std::process::Command;
use verbena_testing::{Lack, skip};
use verbena_tests::{scratch, shell, staged};

/// The pages of a section that are no links to others.
fn pages(section: &str) -> Vec<PathBuf> {
    let folder = staged("share/man").join(section);
    let entries = std::fs::read_dir(folder).expect("installed").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = entries.filter(|page| !page.is_symlink()).collect();
    pages.sort();
    pages
}

/// The source of an installed page, by its path from `share/man`.
fn page(path: &str) -> String {
    shell(Command::new("gzip").arg("-dc").arg(staged("share/man").join(path))).stdout
}

/// Returns whether a program is there; else says that the test is skipped.
fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        skip(Lack::Optional, &format!("there is no {program}"));
    }
    is_there
}

#[test]
fn groff_has_no_warning_about_any_page() {
    if !has("groff") {
        return;
    }
    for page in pages("man1").into_iter().chain(pages("man3")) {
        let line = "gzip -dc \"$1\" | groff -ww -mdoc -Tutf8 -z";
        let output = Command::new("sh").args(["-c", line, "sh"]).arg(&page).output().expect("sh starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
    }
}

#[test]
fn mandoc_finds_nothing_to_mend_in_any_page() {
    if !has("mandoc") {
        return;
    }
    // Of several files, mandoc unpacks only some.
    let folder = scratch("manual");
    shell(Command::new("cp").args(pages("man1")).args(pages("man3")).arg(&folder));
    shell(Command::new("gzip").args(["-d", "-r"]).arg(&folder));
    let lint = "mandoc -T lint -- *";
    let output = Command::new("sh").args(["-c", lint]).current_dir(&folder).output().expect("sh starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// `man -k` and `whatis` find what a page's first section says, as `lexgrog` reads it.
#[test]
fn the_index_of_the_manual_takes_every_page() {
    if !has("lexgrog") {
        return;
    }
    let pages: Vec<PathBuf> = pages("man1").into_iter().chain(pages("man3")).collect();
    let output = Command::new("lexgrog").args(&pages).output().expect("lexgrog starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    for page in &pages {
        let name = page.file_name().expect("a file").to_string_lossy().into_owned();
        let (name, _) = name.split_once('.').expect("NAME.SECTION.gz");
        assert!(said.contains(&format!("\"{name} - ")), "{name}: {said}");
    }
}

#[test]
fn every_command_and_function_has_a_page() {
    for name in ["mpiexec", "mpirun", "mpicc", "mpicxx", "mpic++", "mpifort", "mpif90", "mpif77", "verbena"] {
        assert!(page(&format!("man1/{name}.1.gz")).contains("\n.Sh SYNOPSIS\n"), "{name}");
    }
    let symbols = shell(Command::new("nm").arg("-D").arg(staged("lib/libmpi_abi.so.1"))).stdout;
    let functions = symbols.lines().filter_map(|line| line.split_once(" T ")).map(|(_, name)| name);
    let functions: Vec<&str> = functions.filter(|name| name.starts_with("MPI_")).collect();
    assert!(functions.len() > 600, "{}", functions.len());
    for name in functions {
        let page = staged("share/man/man3").join(format!("{name}.3.gz"));
        assert!(page.exists(), "{name} has no page");
    }
}

#[test]
fn a_page_of_a_command_has_every_option_that_its_help_shows() {
    let page = page("man1/mpiexec.1.gz");
    let help = shell(Command::new(staged("bin/mpiexec")).arg("--help")).stdout;
    let options = help.lines().filter_map(|line| line.trim_start().split("--").nth(1));
    let mut count = 0;
    for option in options.filter_map(|option| option.split([' ', ',', '=', '[', '.']).next()) {
        if option.chars().all(|c| c.is_ascii_lowercase() || c == '-') && option.len() > 1 && option != "help"
        {
            let shown = page.contains(&format!("Fl -{option}"));
            assert!(shown || option == "version", "--{option} is not in the page");
            count += 1;
        }
    }
    assert!(count > 15, "{count} options in {help}");
}

/// bash completes a half-written option of the real command.
#[test]
fn bash_completes_options_and_commands() {
    for (command, words, expected) in [
        ("mpiexec", "mpiexec --host", "--hostfile"),
        ("mpirun", "mpirun --host", "--hostfile"),
        ("mpiexec", "mpiexec -genv", "-genvall"),
        ("mpiexec", "mpiexec --bind-to nu", "numa"),
        ("mpiexec", "mpiexec -bind-to nu", "numa"),
        ("verbena", "verbena doc", "doctor"),
    ] {
        let file = staged("share/bash-completion/completions").join(command);
        let all: Vec<&str> = words.split(' ').collect();
        let [.., before, last] = all[..] else { panic!("two words") };
        let place = all.len() - 1;
        let script = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD={place}; _{command} {command} {last} {before}; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        let said = shell(Command::new("bash").args(["-c", &script])).stdout;
        assert!(said.lines().any(|line| line == expected), "{words}: {said}");
    }
}

/// One call completes the command under both of its names.
#[test]
fn the_completions_that_mpiexec_prints_are_those_of_mpirun_too() {
    let script = format!(
        "eval \"$('{}' --completions bash)\"; complete -p mpiexec mpirun",
        staged("bin/mpiexec").display()
    );
    let said = shell(Command::new("bash").args(["-c", &script])).stdout;
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn zsh_and_fish_take_the_completions() {
    let folder = scratch("completions");
    for (program, path) in
        [("zsh", "share/zsh/site-functions/_"), ("fish", "share/fish/vendor_completions.d/")]
    {
        if !has(program) {
            continue;
        }
        for command in ["mpiexec", "mpirun", "verbena"] {
            let end = if program == "fish" { ".fish" } else { "" };
            let file = staged(&format!("{path}{command}{end}"));
            shell(Command::new(program).arg("-n").arg(&file).current_dir(&folder));
        }
    }
}
