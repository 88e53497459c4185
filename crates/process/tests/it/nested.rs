//! Repositories inside a workspace: which of them a policy protects, and for how long.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use troupe_process::{BackendChoice, EnforcementState, Launcher};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{confined, launcher_with, run_with, scratch, workspace_only, write};

async fn succeeds(launcher: &Launcher, script: &str, work: &Path) -> bool {
    let spec = confined(script, workspace_only(), work);
    run_with(launcher, spec).await.exit.is_success()
}

fn namespaces() -> Launcher {
    launcher_with(BackendChoice::Namespaces)
}

#[tokio::test]
async fn the_work_tree_of_a_repository_inside_stays_writable() {
    let (place, launcher) = (scratch(), namespaces());
    let work = place.path();
    write(work.join("a/sub/.git/config"), "");
    write(work.join("a/sub/file"), "");
    let script = "echo x > a/sub/file && mkdir a/sub/d && mv a/sub/file a/sub/d/ && mv a/sub/d . && \
                  rm -r d && touch a/sub/.gitignore a/new && cat a/sub/.git/config";
    assert!(succeeds(&launcher, script, work).await);
}

#[tokio::test]
async fn what_is_refused_there_is_told() {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    write(work.join("sub/.git/config"), "");
    let spec = confined("echo x > sub/.git/config", workspace_only(), &work);
    let denial = run_with(&namespaces(), spec).await.exit.denial.unwrap();
    let expected = format!("write to {}", work.join("sub/.git/config").display());
    assert_eq!(denial.what, expected);
}

#[tokio::test]
async fn a_repository_that_a_command_makes_is_its_own_until_the_policy_is_set_up_again() {
    let (place, launcher) = (scratch(), namespaces());
    let work = place.path();
    let make = "git init -q new && git -C new config core.editor vi && touch new/../x";
    let spec = confined(make, workspace_only(), work);
    let done = run_with(&launcher, spec).await;
    assert!(
        done.exit.is_success() && done.exit.denial.is_none(),
        "{done:?}"
    );
    let change = "git -C new config core.editor ed";
    assert!(succeeds(&launcher, change, work).await);
    assert!(!succeeds(&namespaces(), change, work).await);
}

#[tokio::test]
async fn one_that_was_replaced_from_outside_is_protected_again() {
    let (place, launcher) = (scratch(), namespaces());
    let work = place.path();
    let change = "echo x > sub/.git/config";
    for round in 0..3 {
        write(work.join("sub/.git/config"), "");
        assert!(!succeeds(&launcher, change, work).await, "{round}");
        match round {
            0 => fs::remove_dir_all(work.join("sub/.git")).unwrap(),
            _ => fs::rename(work.join("sub"), work.join("old")).unwrap(),
        }
        // Nothing is there now, and commands run.
        assert!(succeeds(&launcher, "true", work).await);
        let _ = fs::remove_dir_all(work.join("old"));
    }
}

#[tokio::test]
async fn a_symlink_to_a_repository_stays_what_it_is() {
    let (place, launcher) = (scratch(), namespaces());
    let work = place.path();
    write(work.join("store/HEAD"), "");
    fs::create_dir(work.join("sub")).unwrap();
    std::os::unix::fs::symlink("../store", work.join("sub/.git")).unwrap();
    assert!(!succeeds(&launcher, "echo x > sub/.git/config", work).await);
    succeeds(&launcher, "rm sub/.git; mkdir sub/.git", work).await;
    let link = fs::read_link(work.join("sub/.git")).unwrap();
    assert_eq!(link, Path::new("../store"));
}

#[tokio::test]
async fn repositories_that_come_and_go_keep_no_command_from_running() {
    const NAMES: usize = 20;
    let place = scratch();
    let work = place.path().to_path_buf();
    let is_over = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&is_over);
    // Each is now a repository, now a file, now nothing.
    let churn = std::thread::spawn(move || {
        for name in (0..NAMES).cycle() {
            if has_ended.load(Ordering::Relaxed) {
                return;
            }
            let at = |name: usize| work.join((name % NAMES).to_string());
            let _ = fs::create_dir_all(at(name).join("a/.git"));
            let _ = fs::remove_dir_all(at(name + 7));
            let _ = fs::write(at(name + 7), "");
            let _ = fs::remove_file(at(name + 5));
        }
    });
    let mut failures = Vec::new();
    for _ in 0..30 {
        let spec = confined("true", workspace_only(), place.path());
        failures.extend(namespaces().spawn(spec).await.err());
    }
    is_over.store(true, Ordering::Relaxed);
    churn.join().unwrap();
    assert!(failures.is_empty(), "{failures:?}");
}

/// Makes a repository that expects others at these places.
fn repository_with_links(work: &Path, index_version: &str, places: &[&str]) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(work).args(arguments);
        assert!(git.status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    write(work.join("a/plain"), "");
    write(work.join("zz"), "");
    git(&["add", "a/plain", "zz"]);
    for place in places {
        let link = format!("160000,{},{place}", "1".repeat(40));
        git(&["update-index", "--add", "--cacheinfo", &link]);
    }
    git(&["update-index", "--index-version", index_version]);
}

#[tokio::test]
async fn a_repository_that_is_expected_cannot_be_planted() {
    for version in ["2", "4"] {
        let place = scratch();
        let work = place.path();
        repository_with_links(work, version, &["a/empty", "a/filled", "missing"]);
        fs::create_dir(work.join("a/empty")).unwrap();
        write(work.join("a/filled/file"), "");
        for script in [
            "git init -q a/empty",
            "rmdir a/empty; git init -q a/empty",
            "mv a b; mkdir -p a/empty/.git",
            "mkdir a/filled/.git",
            "git init -q missing",
        ] {
            succeeds(&namespaces(), script, work).await;
        }
        for planted in ["a/empty/.git", "a/filled/.git", "missing/.git"] {
            assert!(!work.join(planted).exists(), "{planted} {version}");
        }
        assert!(succeeds(&namespaces(), "echo x > a/filled/file", work).await);
    }
}

/// However the index is written, and in whichever repository inside it lies.
#[tokio::test]
async fn no_place_that_some_index_names_can_be_planted() {
    let (split, inside) = (scratch(), scratch());
    let work = split.path();
    repository_with_links(work, "2", &["early"]);
    let git = |directory: &Path, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(directory).args(arguments);
        assert!(git.status().unwrap().success(), "{arguments:?}");
    };
    git(work, &["update-index", "--split-index"]);
    let link = format!("160000,{},late", "1".repeat(40));
    git(work, &["update-index", "--add", "--cacheinfo", &link]);
    // One entry of the shared file is replaced.
    write(work.join("zz"), "other");
    git(work, &["add", "zz"]);
    // Who must know all of them learns that one file does not have them.
    assert_eq!(troupe_process::gitlinks(work), None);
    // A submodule that is checked out, and an embedded repository, each with one that is not.
    let work = inside.path();
    repository_with_links(work, "2", &["module"]);
    assert_eq!(
        troupe_process::gitlinks(work),
        Some(vec![work.join("module")])
    );
    for name in ["module", "embedded"] {
        fs::create_dir(work.join(name)).unwrap();
        repository_with_links(&work.join(name), "4", &["deep/empty"]);
    }
    for (work, places) in [
        (split.path(), vec!["early", "late"]),
        (
            inside.path(),
            vec!["module/deep/empty", "embedded/deep/empty"],
        ),
    ] {
        for place in &places {
            fs::create_dir_all(work.join(place)).unwrap();
        }
        let tries = places.iter().map(|place| format!("; mv -T made {place}"));
        let script = format!("git init -q made{}; true", tries.collect::<String>());
        assert!(succeeds(&namespaces(), &script, work).await);
        assert!(work.join("made/.git").exists());
        for place in places {
            assert!(!work.join(place).join(".git").exists(), "{place}");
        }
    }
}

/// Ids are longer there, and read by the wrong length an index looks like another one.
#[tokio::test]
async fn a_place_in_a_repository_with_longer_ids_cannot_be_planted() {
    let place = scratch();
    let work = place.path();
    let script = "git init -q --object-format=sha256 && echo a > a && git add a && \
                  git -c user.name=a -c user.email=a@b commit -qm a && \
                  git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),mod && mkdir mod";
    let mut shell = Command::new("sh");
    let made = shell.args(["-c", script]).current_dir(work).status();
    assert!(made.unwrap().success());
    assert_eq!(troupe_process::gitlinks(work), Some(vec![work.join("mod")]));
    let script = "git init -q made; mv -T made mod; true";
    assert!(succeeds(&namespaces(), script, work).await);
    assert!(work.join("made/.git").exists());
}

/// Nothing can be mounted there; it is told, and commands run.
#[tokio::test]
async fn a_place_whose_name_is_not_text_keeps_no_command_from_running() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = scratch();
    let name = std::ffi::OsStr::from_bytes(b"m\xff");
    fs::create_dir_all(place.path().join(name).join(".git")).unwrap();
    let launcher = namespaces();
    assert!(succeeds(&launcher, "true", place.path()).await);
    let report = launcher.report();
    let mut rows = report.rows().iter();
    assert!(rows.any(|row| {
        matches!(&row.state, EnforcementState::NotEnforced { why } if why.contains("not UTF-8"))
    }));
}

#[tokio::test]
async fn a_thousand_places_that_an_index_names_cannot_be_planted() {
    let place = scratch();
    let work = place.path();
    let names: Vec<String> = (0..1_000).map(|number| format!("m/{number}")).collect();
    repository_with_links(work, "2", &[]);
    let mut links = Vec::new();
    for name in &names {
        fs::create_dir_all(work.join(name)).unwrap();
        links.push(format!("160000 {}\t{name}\n", "1".repeat(40)));
    }
    write(work.join("links"), &links.concat());
    let feed = "git update-index --index-info < links";
    let mut shell = Command::new("sh");
    let fed = shell.args(["-c", feed]).current_dir(work).status();
    assert!(fed.unwrap().success());
    let script =
        "git init -q made; for m in m/*; do mv -T made $m && echo $m; done 2> /dev/null; true";
    assert!(succeeds(&namespaces(), script, work).await);
    assert!(work.join("made/.git").exists());
    for name in names {
        assert!(!work.join(&name).join(".git").exists(), "{name}");
    }
}

#[tokio::test]
async fn no_number_of_repositories_takes_the_place_of_one_that_is_expected() {
    let place = scratch();
    let work = place.path();
    for number in 0..=troupe_process::limits::NESTED_PATHS_MAX {
        fs::create_dir_all(work.join(format!("{number}/.git"))).unwrap();
    }
    write(work.join("z/deep/sub/.git/config"), "");
    repository_with_links(work, "3", &["z/deep/sub"]);
    let change = "echo x > z/deep/sub/.git/config";
    assert!(!succeeds(&namespaces(), change, work).await);
}

#[tokio::test]
async fn what_the_search_left_out_is_in_the_report() {
    let place = scratch();
    for number in 0..=troupe_process::limits::NESTED_PATHS_MAX {
        fs::create_dir_all(place.path().join(format!("{number}/.git"))).unwrap();
    }
    let launcher = namespaces();
    let is_told = |report: &troupe_process::EnforcementReport| {
        let mut rows = report.rows().iter();
        rows.any(|row| {
            let missing = matches!(&row.state, EnforcementState::NotEnforced { why }
                if why.contains("stopped at 256 of them"));
            row.feature.contains("deeper") && missing
        })
    };
    assert!(!is_told(&launcher.report()));
    let none = std::collections::BTreeMap::new();
    let policy = workspace_only();
    assert!(is_told(&launcher.report_on(&policy, place.path(), &none)));
    let policy = SandboxPolicy::read_only();
    assert!(!is_told(&launcher.report_on(&policy, place.path(), &none)));
    assert!(succeeds(&launcher, "true", place.path()).await);
    assert!(is_told(&launcher.report()));
}
