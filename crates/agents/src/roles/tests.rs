use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use expect_test::{Expect, expect};

use super::{AgentRole, RoleError, RoleLibrary, RoleName, RoleOrigin, create, project_directory};

/// A home and a repository with a directory in it.
struct Disk {
    directory: tempfile::TempDir,
    roles: RoleLibrary,
}

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let roles = RoleLibrary::new(directory.path().join("home"));
        let disk = Self { directory, roles };
        fs::create_dir_all(disk.path("repo/.git")).unwrap();
        fs::create_dir_all(disk.path("repo/sub/deep")).unwrap();
        disk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Writes a role that says where it comes from.
    fn role(&self, path: &str) -> PathBuf {
        self.write(path, &format!("---\ndescription: {path}\n---\nDo it.\n"))
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn resolve(&self, cwd: &str, name: &str) -> Result<Arc<AgentRole>, RoleError> {
        self.roles.resolve(&self.path(cwd), name)
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&self.directory.path().display().to_string(), "DIR")
    }

    /// Checks what a name means in a directory.
    fn check(&self, cwd: &str, name: &str, expected: Expect) {
        let answer = match self.resolve(cwd, name) {
            Ok(role) => format!("{} ({})", role.origin, role.origin.as_str()),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&self.shown(&answer));
    }

    fn catalogue(&self, cwd: &str) -> String {
        let catalogue = self.roles.catalogue(&self.path(cwd));
        let mut text = String::new();
        for role in &catalogue.roles {
            // What is listed is what is found.
            let found = self.resolve(cwd, role.name.as_str()).unwrap();
            assert_eq!(found.origin, role.origin);
            if role.origin != RoleOrigin::Embedded {
                writeln!(text, "{} = {}", role.name, role.origin).unwrap();
            }
        }
        for broken in &catalogue.broken {
            writeln!(text, "! {}", broken.error).unwrap();
        }
        self.shown(&text)
    }
}

#[test]
fn the_nearest_file_wins() {
    let disk = Disk::new();
    disk.check("repo/sub", "worker", expect!["built in (embedded)"]);
    disk.role("home/agents/worker.md");
    disk.check(
        "repo/sub",
        "worker",
        expect!["DIR/home/agents/worker.md (home)"],
    );
    disk.role("repo/.troupe/agents/worker.md");
    disk.check(
        "repo/sub",
        "worker",
        expect!["DIR/repo/.troupe/agents/worker.md (project)"],
    );
    disk.role("repo/sub/.troupe/agents/worker.md");
    disk.check(
        "repo/sub/deep",
        "worker",
        expect!["DIR/repo/sub/.troupe/agents/worker.md (project)"],
    );
    disk.check(
        "repo",
        "worker",
        expect!["DIR/repo/.troupe/agents/worker.md (project)"],
    );
}

#[test]
fn the_search_ends_at_the_repository() {
    let disk = Disk::new();
    disk.role(".troupe/agents/above.md");
    disk.check("repo/sub", "above", expect!["unknown role above; there are architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker"]);
    // Outside a repository only the directory itself counts.
    disk.role("plain/.troupe/agents/here.md");
    fs::create_dir_all(disk.path("plain/sub")).unwrap();
    disk.check(
        "plain",
        "here",
        expect!["DIR/plain/.troupe/agents/here.md (project)"],
    );
    disk.check("plain/sub", "here", expect!["unknown role here; there are architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker"]);
}

#[test]
fn names_are_found_in_any_spelling_but_not_twice() {
    let disk = Disk::new();
    disk.check("repo", "Linter-Fixer", expect!["built in (embedded)"]);
    disk.role("repo/.troupe/agents/Data-Miner.md");
    disk.check(
        "repo",
        "data_miner",
        expect!["DIR/repo/.troupe/agents/Data-Miner.md (project)"],
    );
    disk.role("repo/.troupe/agents/data_miner.md");
    disk.check("repo", "DATA-MINER", expect!["the role data-miner is ambiguous; keep one of DIR/repo/.troupe/agents/Data-Miner.md, DIR/repo/.troupe/agents/data_miner.md"]);
    // In two places they do not meet.
    disk.role("repo/sub/.troupe/agents/data_miner.md");
    disk.check(
        "repo/sub",
        "data-miner",
        expect!["DIR/repo/sub/.troupe/agents/data_miner.md (project)"],
    );
    disk.check(
        "repo",
        "wroker",
        expect!["unknown role wroker; did you mean worker?"],
    );
    disk.check("repo", "cook", expect!["unknown role cook; there are architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker"]);
    disk.check(
        "repo",
        "../worker",
        expect![[r#""../worker" is not a name; expected 1 to 64 letters, digits, `-` or `_`"#]],
    );
}

#[test]
fn other_files_are_no_roles() {
    let disk = Disk::new();
    disk.role("repo/.troupe/agents/notes.txt");
    disk.role("repo/.troupe/agents/worker.md~");
    disk.role("repo/.troupe/agents/.worker.md.swp");
    disk.role("repo/.troupe/agents/.#worker.md");
    expect![[""]].assert_eq(&disk.catalogue("repo"));
}

/// The gap this closes: a typo in YAML made a read-only role an unrestricted one.
#[test]
fn a_broken_file_refuses_its_name_and_hides_what_lies_behind() {
    let disk = Disk::new();
    disk.role("home/agents/explorer.md");
    disk.write(
        "repo/.troupe/agents/explorer.md",
        "---\ndescription: d\nread_only: ture\n---\nLook.\n",
    );
    disk.check(
        "repo",
        "explorer",
        expect!["DIR/repo/.troupe/agents/explorer.md:3:12: expected `true` or `false`"],
    );
    let error = disk.resolve("repo", "explorer").unwrap_err();
    assert!(matches!(error, RoleError::Invalid(invalid) if invalid.fault.line == 3));
}

#[test]
fn the_catalogue_lists_what_works_and_what_does_not() {
    let disk = Disk::new();
    disk.role("repo/.troupe/agents/miner.md");
    disk.role("home/agents/miner.md");
    disk.role("home/agents/painter.md");
    disk.write("repo/.troupe/agents/worker.md", "no front matter");
    disk.write(
        "home/agents/worker.md",
        "---\ndescription: d\nmodle: m\n---\nDo it.\n",
    );
    disk.role("home/agents/two words.md");
    disk.role("home/agents/a-b.md");
    disk.role("home/agents/a_b.md");
    expect![[r#"
        miner = DIR/repo/.troupe/agents/miner.md
        painter = DIR/home/agents/painter.md
        ! DIR/repo/.troupe/agents/worker.md:1:1: expected `---` as the first line, then YAML, then `---` and the prompt
        ! DIR/home/agents/two words.md: a role file is called NAME.md, with letters, digits, `-` and `_` in the name
        ! DIR/home/agents/worker.md:3:1: unknown key `modle` (did you mean `model`?)
        ! the role a-b is ambiguous; keep one of DIR/home/agents/a-b.md, DIR/home/agents/a_b.md
    "#]].assert_eq(&disk.catalogue("repo"));
    assert!(disk.resolve("repo", "worker").is_err());
}

#[test]
fn an_edit_counts_at_once_and_an_unchanged_file_is_shared() {
    let disk = Disk::new();
    let path = disk.write(
        "repo/.troupe/agents/miner.md",
        "---\ndescription: d\nread_only: false\n---\nDig.\n",
    );
    let first = disk.resolve("repo", "miner").unwrap();
    let again = disk.resolve("repo/sub", "miner").unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    assert!(!first.read_only);

    // Same length, and perhaps the same time.
    let locked = "---\ndescription: d\nread_only: true \n---\nDig.\n";
    fs::write(&path, locked).unwrap();
    assert!(disk.resolve("repo", "miner").unwrap().read_only);
    fs::write(&path, "---\nread_only: tru").unwrap();
    assert!(disk.resolve("repo", "miner").is_err());
    fs::write(&path, locked).unwrap();
    assert!(disk.resolve("repo", "miner").unwrap().read_only);
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        disk.resolve("repo", "miner"),
        Err(RoleError::Unknown { .. })
    ));
    assert!(
        !first.read_only,
        "who was spawned before keeps what it was given"
    );
}

#[test]
fn a_schema_beside_the_role_is_read_and_read_again() {
    let disk = Disk::new();
    disk.write(
        "repo/.troupe/agents/miner.md",
        "---\ndescription: d\noutput_schema: schemas/ore.json\n---\nDig.\n",
    );
    disk.check("repo", "miner", expect![[r#"DIR/repo/.troupe/agents/miner.md:3:16: the schema "schemas/ore.json": cannot be read: No such file or directory (os error 2)"#]]);
    let schema = disk.write(
        "repo/.troupe/agents/schemas/ore.json",
        r#"{"type": "object"}"#,
    );
    let role = disk.resolve("repo", "miner").unwrap();
    assert_eq!(role.output_schema.as_ref().unwrap()["type"], "object");
    assert!(Arc::ptr_eq(&role, &disk.resolve("repo", "miner").unwrap()));
    fs::write(&schema, r#"{"type": "string"}"#).unwrap();
    let role = disk.resolve("repo", "miner").unwrap();
    assert_eq!(role.output_schema.as_ref().unwrap()["type"], "string");
    fs::remove_file(&schema).unwrap();
    assert!(disk.resolve("repo", "miner").is_err());
}

#[test]
fn a_project_cannot_name_files_of_the_user_as_schemas() {
    let disk = Disk::new();
    let secret = disk.write("secret.json", r#"{"token": "abc"}"#);
    fs::create_dir_all(disk.path("repo/.troupe/agents")).unwrap();
    symlink(&secret, disk.path("repo/.troupe/agents/link.json")).unwrap();
    for path in [
        "../../../secret.json",
        "link.json",
        secret.to_str().unwrap(),
        "''",
    ] {
        let text = format!("---\ndescription: d\noutput_schema: {path}\n---\nDig.\n");
        disk.write("repo/.troupe/agents/miner.md", &text);
        let error = disk.resolve("repo", "miner").unwrap_err().to_string();
        assert!(error.contains("below the directory of the role"), "{error}");
    }
}

#[test]
fn what_is_not_a_small_regular_file_is_refused_and_nobody_waits() {
    let disk = Disk::new();
    let agents = project_directory(&disk.path("repo"));
    fs::create_dir_all(agents.join("folder.md")).unwrap();
    symlink("/dev/zero", agents.join("device.md")).unwrap();
    symlink("nowhere", agents.join("dangling.md")).unwrap();
    nix::unistd::mkfifo(&agents.join("pipe.md"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    fs::write(agents.join("large.md"), "x".repeat(256 * 1024 + 1)).unwrap();
    expect![[r#"
        ! cannot read DIR/repo/.troupe/agents/dangling.md: No such file or directory (os error 2)
        ! cannot read DIR/repo/.troupe/agents/device.md: it is not a regular file
        ! cannot read DIR/repo/.troupe/agents/folder.md: it is not a regular file
        ! cannot read DIR/repo/.troupe/agents/large.md: it is larger than 262144 bytes
        ! cannot read DIR/repo/.troupe/agents/pipe.md: it is not a regular file
    "#]]
    .assert_eq(&disk.catalogue("repo"));
    assert!(matches!(
        disk.resolve("repo", "pipe"),
        Err(RoleError::Read { .. })
    ));
}

#[test]
fn a_place_that_cannot_be_listed_hides_what_lies_behind() {
    let disk = Disk::new();
    disk.write("repo/.troupe/agents", "not a directory");
    disk.role("repo/sub/.troupe/agents/miner.md");
    disk.check(
        "repo/sub",
        "miner",
        expect!["DIR/repo/sub/.troupe/agents/miner.md (project)"],
    );
    disk.check(
        "repo/sub",
        "worker",
        expect!["cannot list the roles in DIR/repo/.troupe/agents: Not a directory (os error 20)"],
    );
    expect![[r#"
        miner = DIR/repo/sub/.troupe/agents/miner.md
        ! cannot list the roles in DIR/repo/.troupe/agents: Not a directory (os error 20)
    "#]]
    .assert_eq(&disk.catalogue("repo/sub"));
}

#[test]
fn a_crowded_place_is_refused() {
    let disk = Disk::new();
    for number in 0..=512 {
        disk.write(&format!("home/agents/r{number}.md"), "");
    }
    disk.check(
        "repo",
        "worker",
        expect!["DIR/home/agents holds more than 512 files named *.md; remove some"],
    );
}

#[test]
fn personas_speak_in_place_of_their_role() {
    let disk = Disk::new();
    disk.write(
        "repo/.troupe/agents/miner.md",
        "---\ndescription: d\nmodel: deep\nagent_names: [{name: Quick, model: fast}]\n---\nDig.\n<!-- agent_name: quick -->\nScratch.\n",
    );
    let role = disk.resolve("repo", "miner").unwrap();
    let quick = role.persona("QUICK").unwrap();
    assert_eq!(
        (&**role.prompt(None), &**role.prompt(Some(quick))),
        ("Dig.", "Scratch.")
    );
    let call = super::ModelPreference::default();
    assert_eq!(
        role.precedence(&call, Some(quick)).model("parent").value,
        "fast"
    );
    assert_eq!(role.precedence(&call, None).model("parent").value, "deep");
    expect![[r#"the role miner has no persona "quik"; did you mean quick?"#]]
        .assert_eq(&role.persona("quik").unwrap_err().to_string());
    let worker = disk.resolve("repo", "worker").unwrap();
    expect![[r#"the role worker has no persona "quick"; it has none"#]]
        .assert_eq(&worker.persona("quick").unwrap_err().to_string());
}

#[test]
fn a_new_role_is_one_and_replaces_nothing() {
    let disk = Disk::new();
    let agents = project_directory(&disk.path("repo"));
    let name = RoleName::parse("Data-Miner").unwrap();
    let path = create(&agents, &name).unwrap();
    disk.check(
        "repo",
        "data_miner",
        expect!["DIR/repo/.troupe/agents/data-miner.md (project)"],
    );
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("You are data-miner."), "{text}");

    let other = create(&agents, &RoleName::parse("data_miner").unwrap()).unwrap_err();
    assert_eq!(other.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

/// The template explains every key; taken out of its comments it is a role with all of them.
#[test]
fn the_template_is_right_in_its_comments_too() {
    let disk = Disk::new();
    let path = create(
        &disk.path("home/agents"),
        &RoleName::parse("miner").unwrap(),
    )
    .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let uncommented: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("# What") && !line.starts_with("# Everything"))
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .collect();
    let uncommented = uncommented.join("\n");
    fs::write(
        &path,
        format!("{uncommented}\n<!-- agent_name: brief -->\nIn short.\n"),
    )
    .unwrap();
    let role = disk.resolve("repo", "miner").unwrap();
    assert!(role.read_only && role.output_schema.is_some() && role.personas.len() == 1);
}

#[test]
fn one_file_can_be_read_by_its_path() {
    let disk = Disk::new();
    let path = disk.role("anywhere/miner.md");
    assert_eq!(disk.roles.read(&path).unwrap().name.as_str(), "miner");
    for (path, expected) in [
        ("anywhere/none.md", "cannot read"),
        ("anywhere/miner.txt", "a role file is called NAME.md"),
    ] {
        let error = disk.roles.read(&disk.path(path)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
