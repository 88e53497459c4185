use std::fs;

use super::*;

struct Tree {
    directory: tempfile::TempDir,
    roots: Vec<PathBuf>,
    variables: Variables,
    git_is_guarded: bool,
}

impl Tree {
    /// A repository that commands can write to, and a home that they cannot.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        for name in ["home", "bin", "work/.git/hooks", "work/bin"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        fs::write(
            top.join("work/.git/config"),
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:x.git\n",
        )
        .unwrap();
        fs::write(top.join("work/.git/hooks/pre-commit.sample"), "").unwrap();
        let mut tree = Self {
            roots: vec![top.join("work")],
            variables: Variables::new(),
            git_is_guarded: true,
            directory,
        };
        tree.set("HOME", "home");
        tree.set("PATH", "bin");
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn set(&mut self, name: &str, path: &str) {
        let path = self.path(path).to_string_lossy().into_owned();
        self.variables.insert(name.to_owned(), path);
    }

    fn contains(&self, command: &str) -> bool {
        self.contains_in("work", command)
    }

    fn contains_in(&self, directory: &str, command: &str) -> bool {
        self.judge_in(directory, command) == Containment::Contained
    }

    fn judge_in(&self, directory: &str, command: &str) -> Containment {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let surroundings = CommandContext {
            cwd: &self.path(directory),
            roots: &self.roots,
            variables: &self.variables,
            git_is_guarded: self.git_is_guarded,
        };
        assert_eq!(
            surroundings.contain(&words),
            surroundings.judge(&words) == Containment::Contained
        );
        surroundings.judge(&words)
    }

    /// Puts something into the index that stands for a repository of its own.
    fn link(&self, place: &str) {
        let top = self.path("work");
        let entry = format!("160000,0123456789012345678901234567890123456789,{place}");
        for arguments in [
            &["init", "-q"][..],
            &["update-index", "--add", "--cacheinfo", &entry],
        ] {
            let git = std::process::Command::new("git")
                .args(arguments)
                .current_dir(&top)
                .status();
            assert!(git.unwrap().success());
        }
    }
}

#[test]
fn what_runs_files_of_a_tree_by_their_names_is_not_contained() {
    let tree = Tree::new();
    for command in [
        "make",
        "npm run build",
        "cargo test",
        "python3 -m pkg",
        "python3 tool.py",
        "source lib.sh",
        ". lib.sh",
        "docker build .",
        "docker compose up",
        "kubectl apply -f x.yaml",
        "git -c core.pager=./x log",
        "git fetch --upload-pack=./x",
        "git fetch --upload ./x",
        "git rebase main",
        "curl -sK conf",
        "curl --conf conf",
        "wget -e use_proxy=on",
        "env make",
        "xargs make",
        "A=b ls",
        "./ls",
        "/nowhere",
    ] {
        assert!(!tree.contains(command), "{command}");
    }
    for command in [
        "ls -la",
        "curl -sS https://example.org",
        "gh pr list",
        "docker ps",
        "kubectl get pods",
        "git commit -m message",
        "git push origin main",
    ] {
        assert!(tree.contains(command), "{command}");
    }
}

#[test]
fn git_with_hooks_or_drivers_is_not_contained() {
    let settings = [
        "[core]\n\thooksPath = .husky\n",
        "[core]\n\tfsmonitor = ./watch\n",
        "[filter \"x\"]\n\tclean = ./clean\n",
        "[include]\n\tpath = ../shared\n",
    ];
    for text in settings {
        let tree = Tree::new();
        fs::write(tree.path("work/.git/config"), text).unwrap();
        assert!(!tree.contains("git commit -m x"), "{text}");
    }
    let tree = Tree::new();
    fs::write(tree.path("work/.git/hooks/pre-commit"), "npm test\n").unwrap();
    assert!(!tree.contains("git commit -m x"));
    let tree = Tree::new();
    fs::write(tree.path("home/.gitconfig"), "[core]\nhooksPath=/x\n").unwrap();
    assert!(!tree.contains("git commit -m x"));
}

#[test]
fn a_program_that_a_command_can_put_in_the_way_is_not_contained() {
    let mut tree = Tree::new();
    tree.set("PATH", "work/bin");
    assert!(!tree.contains("ls"));
    let mut tree = Tree::new();
    tree.variables.insert("PATH".to_owned(), "bin".to_owned());
    assert!(!tree.contains("ls"));
    // Shells and most programs read settings from there.
    let mut tree = Tree::new();
    tree.set("HOME", "work");
    assert!(!tree.contains("ls"));
    let tree = Tree::new();
    std::os::unix::fs::symlink(tree.path("work/ls"), tree.path("bin/ls")).unwrap();
    fs::write(tree.path("work/ls"), "").unwrap();
    assert!(!tree.contains("ls"));
}

/// A confined `git init` there is enough to have it run something.
#[test]
fn git_is_contained_only_where_no_command_can_make_or_change_a_repository() {
    let mut tree = Tree::new();
    fs::create_dir_all(tree.path("work/sub")).unwrap();
    assert!(tree.contains("git status"));
    assert_eq!(
        tree.judge_in("work/sub", "git status"),
        Containment::Changeable
    );
    fs::create_dir_all(tree.path("other/.git")).unwrap();
    fs::create_dir_all(tree.path("other/sub")).unwrap();
    assert!(tree.contains_in("other/sub", "git status"));
    // Landlock alone keeps nobody from hooks.
    tree.git_is_guarded = false;
    assert_eq!(
        tree.judge_in("work", "git commit -m x"),
        Containment::Changeable
    );
    assert_eq!(tree.judge_in("work", "git rebase"), Containment::Changeable);
    assert_eq!(tree.judge_in("work", "gh pr list"), Containment::Changeable);
    assert!(tree.contains_in("other", "git commit -m x"));
}

#[test]
fn git_that_looks_into_a_repository_of_a_command_is_not_contained() {
    let tree = Tree::new();
    tree.link("vendor/lib");
    assert!(tree.contains("git status"), "nothing is there");
    fs::create_dir_all(tree.path("work/vendor/lib/.git")).unwrap();
    assert!(!tree.contains("git status"));
    let tree = Tree::new();
    fs::write(tree.path("work/.git/index"), "DIRC?").unwrap();
    assert!(!tree.contains("git status"), "nobody knows");
}

/// A repository on this machine runs its own hooks when it is pushed to.
#[test]
fn git_that_talks_to_a_repository_of_a_command_is_not_contained() {
    let tree = Tree::new();
    let remote = |url: &str| {
        let text = format!("[remote \"origin\"]\n\turl = {url}\n");
        fs::write(tree.path("work/.git/config"), text).unwrap();
    };
    remote("git@example.org:x.git");
    for command in [
        "git push ./evil",
        "git push -o origin ./evil",
        "git fetch evil",
        "git push ext::sh",
        "git push file:///evil",
        "git remote show ./evil",
        "git remote add -f x ./evil",
    ] {
        assert!(!tree.contains(command), "{command}");
    }
    for command in [
        "git push",
        "git push -u origin main",
        "git push https://example.org/x.git main",
        "git fetch --all",
        "git remote -v",
    ] {
        assert!(tree.contains(command), "{command}");
    }
    for (url, is_contained) in [
        ("./evil", false),
        ("evil::x", false),
        ("sub/../../remote", false),
        ("../remote", true),
    ] {
        remote(url);
        assert_eq!(tree.contains("git push"), is_contained, "{url}");
    }
}

#[test]
fn a_driver_of_the_users_is_chosen_by_files_of_the_tree() {
    for (setting, is_contained) in [
        ("[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n", true),
        ("[filter \"nb\"]\n\tclean = python3 -m nbstripout\n", false),
        ("[diff \"nb\"] textconv = python3 -m nb\n", false),
        ("[core]\n\tfsmonitor = true\n", true),
    ] {
        let tree = Tree::new();
        fs::write(tree.path("home/.gitconfig"), setting).unwrap();
        assert_eq!(tree.contains("git add ."), is_contained, "{setting}");
    }
}

#[test]
fn what_somebody_lets_out_by_hand_is_their_own_choice() {
    let tree = Tree::new();
    for command in ["make deploy", "git rebase main", "./deploy.sh"] {
        assert_eq!(
            tree.judge_in("work", command),
            Containment::Unlisted,
            "{command}"
        );
    }
    fs::write(tree.path("work/bin/make"), "").unwrap();
    let mut tree = Tree::new();
    tree.set("PATH", "work/bin");
    assert_eq!(
        tree.judge_in("work", "make deploy"),
        Containment::Changeable
    );
}

/// A rule stands for its words, and some of these are programs.
#[test]
fn words_that_are_programs_are_not_covered_by_a_rule_for_git() {
    let mut tree = Tree::new();
    tree.set("PATH", "bin");
    for command in [
        "git grep -O/evil a",
        "git grep --open-files-in-pager=/evil a",
        "git archive --remote=. --exec=/evil HEAD",
        "git log --output=/elsewhere",
        "git rebase -x /evil main",
        "git bisect run /evil",
        "git -c core.pager=/evil log",
        "git -C sub status",
    ] {
        let judged = tree.judge_in("work", command);
        assert_eq!(judged, Containment::Changeable, "{command}");
    }
}
