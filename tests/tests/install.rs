//! `make install` and `make uninstall`: root's use of a build that another user made, and the
//! messages where something is missing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;
use verbena_tests::book::links::{anchors, links};
use verbena_tests::{Job, scratch, shell, staged, staged_build, top};

/// Bytes of all that is installed, and of the command `verbena`, at most. Some 700,000 of them are
/// manual pages and the book.
const PREFIX_BYTES_MAX: u64 = 20_000_000;
const VERBENA_BYTES_MAX: u64 = 6_000_000;

/// A program that is a line of shell.
fn stub(folder: &Path, name: &str, line: &str) {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{line}\n")).expect("target/ is writable");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("own file");
}

/// A build of the staged files in `scratch/target`, made at `time`, and a user for whom cargo does
/// not work.
fn make(scratch: &Path, time: SystemTime, words: &[&str]) -> Command {
    let (target, tools) = (scratch.join("target"), scratch.join("tools"));
    fs::create_dir_all(&tools).expect("target/ is writable");
    stub(&tools, "cargo", "exit 1");
    if !target.exists() {
        staged_build(&target.join("release"));
    }
    let built = fs::File::create(target.join("release/.verbena-built")).expect("target/ is writable");
    built.set_modified(time).expect("own file");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").expect("PATH"));
    let mut command = Command::new("make");
    command.args(words).arg(format!("CARGO_TARGET_DIR={}", target.display())).current_dir(top());
    // A `make test` around this one passes its own options to every make below it.
    command.env("PATH", path).env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS");
    command
}

/// Returns every file and link below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] })
        .collect()
}

fn bytes(file: &Path) -> u64 {
    fs::symlink_metadata(file).expect("installed").len()
}

#[test]
fn root_without_cargo_installs_what_is_built_and_removes_it_again() {
    let folder = scratch("install-root");
    let (image, prefix) = (folder.join("image"), folder.join("image/usr"));
    let destdir = format!("DESTDIR={}", image.display());
    let words = ["PREFIX=/usr", "LIBDIR=lib64", &destdir];
    shell(make(&folder, SystemTime::now(), &["install"]).args(words));

    let all: u64 = files(&prefix).iter().map(|file| bytes(file)).sum();
    assert!(all < PREFIX_BYTES_MAX, "{all} bytes are installed");
    let verbena = bytes(&prefix.join("bin/verbena"));
    assert!(verbena < VERBENA_BYTES_MAX, "verbena has {verbena} bytes");
    for file in ["bin/verbena", "bin/mpiexec", "lib64/libmpi_abi.so.1", "lib64/libmpi.so.12"] {
        assert_eq!(shell(Command::new("nm").arg(prefix.join(file))).stdout, "", "{file} is stripped");
    }
    let page = fs::read_to_string(prefix.join("lib64/pkgconfig/mpi.pc")).expect("a page");
    assert!(
        page.contains("prefix=${pcfiledir}/../..\n") && page.contains("libdir=${prefix}/lib64\n"),
        "{page}"
    );

    // An image is a moved prefix: everything finds its parts by its own place.
    let program = folder.join("hello");
    let source = top().join("tests/programs/hello.c");
    shell(Command::new(prefix.join("bin/mpicc")).arg(source).arg("-o").arg(&program));
    let ended = Job::under(&prefix.join("bin/mpiexec"), 2).arg(&program).run().ok();
    assert!(ended.stdout.contains("hello: ok with 2 ranks"), "{ended:?}");
    let mut asked = Command::new("pkg-config");
    asked.args(["--variable=includedir", "verbena"]).env("PKG_CONFIG_PATH", prefix.join("lib64/pkgconfig"));
    let include = PathBuf::from(shell(&mut asked).stdout.trim_end());
    assert_eq!(include.canonicalize().ok(), prefix.join("include").canonicalize().ok(), "{include:?}");
    let info = shell(Command::new(prefix.join("bin/verbena")).arg("info")).stdout;
    assert!(info.contains(&prefix.join("lib64/libmpi_abi.so.1").display().to_string()), "{info}");

    shell(make(&folder, SystemTime::now(), &["uninstall"]).args(words));
    assert!(!image.exists(), "{:?}", files(&image));
}

/// The links of an installed page, but for those to other sites, lead to installed files and to
/// headings in them.
#[test]
fn no_installed_page_has_a_dead_link() {
    let pages: Vec<PathBuf> = files(&staged("share/doc/verbena"));
    let pages = pages.into_iter().filter(|file| file.extension().is_some_and(|end| end == "md"));
    let (mut dead, mut count) = (Vec::new(), 0);
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text) {
            let target = link.target.split_whitespace().next().unwrap_or_default();
            if target.contains("://") {
                continue;
            }
            count += 1;
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            let leads = file.exists()
                && (heading.is_empty()
                    || fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(heading)));
            if !leads {
                dead.push(format!("{}:{}: {target}", page.display(), link.line));
            }
        }
    }
    assert!(dead.is_empty() && count > 100, "{count} links, of them dead: {dead:#?}");
}

/// The README is that of the sources: it says so, and its links have the names of what is
/// installed.
#[test]
fn the_installed_readme_says_what_is_not_installed() {
    let text = fs::read_to_string(staged("share/doc/verbena/README.md")).expect("installed");
    let head: Vec<&str> = text.lines().filter(|line| !line.is_empty()).take(2).collect();
    assert!(head[0] == "# Verbena" && head[1].contains("is not installed"), "{head:?}");
    assert!(!text.contains("[docs/"), "{text}");
}

#[test]
fn only_what_was_installed_is_removed() {
    let folder = scratch("install-shared");
    let prefix = folder.join("prefix");
    fs::create_dir_all(prefix.join("bin")).expect("target/ is writable");
    let own = prefix.join("bin/own");
    fs::write(&own, "").expect("target/ is writable");
    let word = format!("PREFIX={}", prefix.display());
    // Over an installation whose libraries lay elsewhere: those go.
    for lib in ["LIBDIR=lib64", "LIBDIR=lib"] {
        shell(&mut make(&folder, SystemTime::now(), &["install", &word, lib]));
    }
    assert!(prefix.join("lib/libmpi_abi.so.1").exists() && files(&prefix.join("lib64")).is_empty());
    shell(&mut make(&folder, SystemTime::now(), &["uninstall", &word]));
    assert_eq!(files(&prefix), [own]);
    assert!(!prefix.join("lib").exists() && !prefix.join("lib64").exists() && !prefix.join("share").exists());
    let again = make(&folder, SystemTime::now(), &["uninstall", &word]).output().expect("make");
    assert_fault(&again, &["no installation", "manifest.txt is missing"]);
}

#[test]
fn symbols_are_kept_on_request() {
    let symbols = shell(Command::new("nm").arg(staged("lib/.debug/libmpi_abi.so.1.debug"))).stdout;
    assert!(symbols.lines().count() > 1000, "{symbols}");
    let mut asked = Command::new("readelf");
    let link = shell(asked.arg("--string-dump=.gnu_debuglink").arg(staged("lib/libmpi_abi.so.1"))).stdout;
    assert!(link.contains("libmpi_abi.so.1.debug"), "{link}");
}

/// The four parts of a failure, and words in it.
#[track_caller]
fn assert_fault(output: &Output, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    for part in ["\n  on: ", "\n  likely cause: ", "\n  what to do: "].iter().chain(words) {
        assert!(text.contains(part), "no \"{part}\" in: {text}");
    }
}

#[test]
fn a_stale_build_and_no_cargo_are_said() {
    let folder = scratch("install-stale");
    let words = ["install", "PREFIX=/nowhere"];
    let output = make(&folder, SystemTime::UNIX_EPOCH, &words).output().expect("make");
    assert_fault(&output, &["Verbena needs Rust", "root needs none"]);
    let libdir = [&words[..], &["LIBDIR=elsewhere"]].concat();
    let output = make(&folder, SystemTime::now(), &libdir).output().expect("make");
    assert_fault(&output, &["LIBDIR=elsewhere"]);
}

/// The output of a `make` that must fail.
fn failed(mut make: Command) -> Output {
    make.output().expect("make")
}

#[test]
fn an_empty_prefix_is_refused_and_a_slash_is_the_top() {
    let folder = scratch("install-top");
    let now = SystemTime::now;
    for target in ["install", "uninstall"] {
        assert_fault(&failed(make(&folder, now(), &[target, "PREFIX="])), &["no PREFIX", "PREFIX is empty"]);
    }
    assert_fault(&failed(make(&folder, now(), &["install", "PREFIX=.", "FORCE=1"])), &["its own sources"]);

    let image = folder.join("image");
    let words = ["PREFIX=/", &format!("DESTDIR={}", image.display())];
    shell(make(&folder, now(), &["install"]).args(words));
    let page = fs::read_to_string(image.join("lib/pkgconfig/mpi.pc")).expect("a page");
    assert!(image.join("bin/mpicc").exists() && page.contains("prefix=${pcfiledir}/../..\n"), "{page}");
    shell(make(&folder, now(), &["uninstall"]).args(words));
    assert!(!image.exists() && top().join("include/mpi.h").exists());
}

#[test]
fn nothing_is_installed_where_a_part_is_missing() {
    let folder = scratch("install-part");
    let prefix = folder.join("above/prefix");
    let word = format!("PREFIX={}", prefix.display());
    let command = make(&folder, SystemTime::now(), &["install", &word]);
    fs::remove_file(folder.join("target/release/mpiexec")).expect("own file");
    assert_fault(&failed(command), &["no build to install", "release/mpiexec is missing"]);
    assert!(!folder.join("above").exists(), "{:?}", files(&prefix));
}

#[test]
fn what_stopped_half_way_can_be_removed() {
    let folder = scratch("install-half");
    let prefix = folder.join("above/prefix");
    let word = format!("PREFIX={}", prefix.display());
    for (name, is_listed) in [("share/doc/verbena/README.md", true), ("manifest.txt", false)] {
        let command = make(&folder, SystemTime::now(), &["install", &word]);
        // The disk is full when this file's turn comes.
        for tool in ["cp", "mv"] {
            let line = format!("case $* in *prefix/*{name}*) exit 1 ;; esac\nexec /bin/{tool} \"$@\"");
            stub(&folder.join("tools"), tool, &line);
        }
        assert_fault(&failed(command), &["stopped before its end", &prefix.display().to_string()]);
        assert_eq!(prefix.join("bin/mpicc").exists(), is_listed);
        if is_listed {
            shell(&mut make(&folder, SystemTime::now(), &["uninstall", &word]));
        }
        assert!(!folder.join("above").exists(), "{name}: {:?}", files(&prefix));
    }
}

#[test]
fn files_of_others_are_replaced_on_request_alone() {
    let folder = scratch("install-others");
    let prefix = folder.join("prefix");
    let mpicc = prefix.join("bin/mpicc");
    fs::create_dir_all(prefix.join("bin")).expect("target/ is writable");
    fs::write(&mpicc, "another MPI's").expect("target/ is writable");
    let word = format!("PREFIX={}", prefix.display());
    // In the environment the word is another program's.
    let mut command = make(&folder, SystemTime::now(), &["install", &word]);
    command.env("FORCE", "1");
    assert_fault(&failed(command), &["did not install", "bin/mpicc", "another MPI", "FORCE=1"]);
    assert_eq!(files(&prefix), std::slice::from_ref(&mpicc));
    assert_eq!(fs::read_to_string(&mpicc).expect("a file"), "another MPI's");

    // What was ours from then on is ours: an installation goes over an earlier one without it.
    for words in [&["FORCE=1"][..], &[]] {
        shell(make(&folder, SystemTime::now(), &["install", &word]).args(words));
    }
    shell(&mut make(&folder, SystemTime::now(), &["uninstall", &word]));
    assert!(files(&prefix).is_empty() && prefix.join("bin").exists());
}

#[test]
fn the_folders_above_the_prefix_go_if_they_were_made() {
    let folder = scratch("install-above");
    let word = format!("PREFIX={}", folder.join("there/a/b/c").display());
    fs::create_dir(folder.join("there")).expect("target/ is writable");
    for _ in 0..2 {
        shell(&mut make(&folder, SystemTime::now(), &["install", &word]));
    }
    shell(&mut make(&folder, SystemTime::now(), &["uninstall", &word]));
    assert!(folder.join("there").exists() && !folder.join("there/a").exists());

    // An installation that was moved lies in folders that are not ours.
    shell(&mut make(&folder, SystemTime::now(), &["install", &word]));
    fs::create_dir(folder.join("theirs")).expect("target/ is writable");
    fs::rename(folder.join("there/a/b/c"), folder.join("theirs/c")).expect("rename");
    let moved = format!("PREFIX={}", folder.join("theirs/c").display());
    shell(&mut make(&folder, SystemTime::now(), &["uninstall", &moved]));
    assert!(folder.join("theirs").exists() && !folder.join("theirs/c").exists());
}

#[test]
fn others_may_read_what_was_installed_under_a_narrow_umask() {
    let folder = scratch("install-umask");
    let word = format!("PREFIX={}", folder.join("above/prefix").display());
    let command = make(&folder, SystemTime::now(), &["install", &word]);
    let mut narrow = Command::new("sh");
    narrow
        .args(["-c", "umask 077 && exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => narrow.env(name, value),
            None => narrow.env_remove(name),
        };
    }
    shell(narrow.current_dir(top()));
    let mut asked = Command::new("find");
    asked.arg(folder.join("above")).args(["!", "-type", "l", "!", "-perm", "-a=r"]);
    assert_eq!(shell(&mut asked).stdout, "");
    let mut asked = Command::new("find");
    asked.arg(folder.join("above")).args(["-type", "d", "!", "-perm", "755"]);
    assert_eq!(shell(&mut asked).stdout, "");
}

#[test]
fn symbols_are_installed_for_debug_1_alone() {
    let folder = scratch("install-debug");
    let prefix = folder.join("prefix");
    let word = format!("PREFIX={}", prefix.display());
    for (value, has_symbols) in [("0", false), ("a b", false), ("1", true)] {
        shell(make(&folder, SystemTime::now(), &["install", &word]).env("DEBUG", value));
        assert_eq!(prefix.join("bin/.debug/verbena.debug").exists(), has_symbols, "DEBUG={value}");
    }
}

#[test]
fn a_prefix_of_any_characters_is_written_into_the_pages_or_refused() {
    let folder = scratch("install-characters");
    let prefix = folder.join("a b&c|d\\e'f");
    let word = format!("PREFIX={}", prefix.display());
    shell(&mut make(&folder, SystemTime::now(), &["install", &word]));
    let pages = prefix.join("lib/pkgconfig");
    let mut asked = Command::new("pkg-config");
    let said = shell(asked.args(["--variable=prefix", "mpi"]).env("PKG_CONFIG_PATH", &pages)).stdout;
    assert_eq!(said.trim_end(), prefix.display().to_string());
    // As make and configure use it: what it prints is a part of a command line.
    let program = folder.join("hello");
    let mut built = Command::new("sh");
    built.args(["-c", "eval cc -o '\"$0\"' '\"$1\"' $(pkg-config --cflags --libs mpi)"]).arg(&program);
    shell(built.arg(top().join("tests/programs/hello.c")).env("PKG_CONFIG_PATH", &pages));
    let needs = shell(Command::new("ldd").arg(&program)).stdout;
    assert!(needs.contains(&prefix.join("lib/libmpi_abi.so.1").display().to_string()), "{needs}");
    shell(&mut make(&folder, SystemTime::now(), &["uninstall", &word]));
    assert!(!prefix.exists());

    for refused in ["#", ",", "\"", "`", "$$"] {
        let word = format!("PREFIX={}/refused{refused}", folder.display());
        let output = failed(make(&folder, SystemTime::now(), &["install", &word]));
        assert_fault(&output, &["cannot hold this PREFIX"]);
    }
}

#[test]
fn only_an_installation_needs_strip() {
    let tools = [("cc", "exit 0"), ("cargo", "echo cargo 99.0.0")];
    let built = install_deps("deps-no-strip", "build", &tools);
    assert!(built.status.success(), "{built:?}");
    let output = install_deps("deps-strip", "demo", &[&tools[..], &[("dnf", "exit 1")]].concat());
    assert_fault(&output, &["no strip", "sudo dnf install gcc glibc-devel binutils"]);
    let folder = scratch("install-no-strip");
    let mut command = make(&folder, SystemTime::now(), &["install", "PREFIX=/nowhere"]);
    command.env("STRIP", "no-such-strip");
    assert_fault(&failed(command), &["cannot be stripped", "no-such-strip is not in PATH"]);
}

/// Runs `install-deps PURPOSE` where only these programs are, beside those that a shell script
/// needs.
fn install_deps(name: &str, purpose: &str, stubs: &[(&str, &str)]) -> Output {
    let folder = scratch(name);
    for tool in
        ["awk", "cat", "dirname", "grep", "head", "id", "mktemp", "rm", "sed", "sh", "sort", "tail", "uname"]
    {
        let places = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(tool));
        let place = places.iter().find(|place| place.exists()).expect(tool);
        symlink(place, folder.join(tool)).expect("target/ is writable");
    }
    for (name, line) in stubs {
        let _ = fs::remove_file(folder.join(name));
        stub(&folder, name, line);
    }
    let mut command = Command::new(top().join("packaging/install-deps"));
    command.arg(purpose).env("PATH", &folder).output().expect("sh")
}

#[test]
fn missing_tools_are_named_for_the_package_manager_that_is_here() {
    for (manager, advice) in [
        ("apt-get", "sudo apt-get install binutils gcc libc6-dev"),
        ("dnf", "sudo dnf install gcc"),
        ("pacman", "sudo pacman -S gcc"),
        ("apk", "sudo apk add gcc musl-dev"),
        ("zypper", "sudo zypper install gcc"),
    ] {
        let output = install_deps(&format!("deps-{manager}"), "build", &[(manager, "exit 1")]);
        assert_fault(&output, &["no C compiler", advice]);
    }
    let output = install_deps("deps-none", "build", &[]);
    assert_fault(&output, &["sudo apt-get install", "sudo zypper install"]);
}

#[test]
fn building_needs_no_packages_of_the_tests() {
    let tools = [("cc", "exit 0"), ("strip", "exit 0"), ("cargo", "echo cargo 99.0.0")];
    let built = install_deps("deps-build", "build", &tools);
    assert!(built.status.success(), "{built:?}");
    assert_fault(
        &install_deps("deps-demo", "demo", &[&tools[..], &[("dnf", "exit 1")]].concat()),
        &["python3-devel"],
    );
    assert_fault(&install_deps("deps-test", "test", &tools), &["there is no apt-get"]);
    let old = [("cc", "exit 0"), ("strip", "exit 0"), ("cargo", "echo cargo 1.70.0")];
    assert_fault(&install_deps("deps-old", "build", &old), &["Verbena needs Rust", "cargo in PATH: 1.70.0"]);
}

#[test]
fn other_platforms_are_told_at_once() {
    let output = install_deps("deps-mac", "build", &[("uname", "[ $1 = -s ] && echo Darwin || echo arm64")]);
    assert_fault(&output, &["Linux on x86-64 and aarch64", "Darwin on arm64"]);
}
