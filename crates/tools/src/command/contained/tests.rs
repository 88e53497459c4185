use std::fs;

use super::*;

struct Tree {
    directory: tempfile::TempDir,
    roots: Vec<PathBuf>,
    variables: Variables,
}

impl Tree {
    /// A repository that commands can write to, and a home that they cannot.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        for name in ["home", "bin", "work/.git/hooks", "work/bin"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        fs::write(top.join("work/.git/config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(top.join("work/.git/hooks/pre-commit.sample"), "").unwrap();
        let mut tree = Self {
            roots: vec![top.join("work")],
            variables: Variables::new(),
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
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let surroundings = Surroundings {
            cwd: &self.path("work"),
            roots: &self.roots,
            variables: &self.variables,
        };
        surroundings.contain(&words)
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
