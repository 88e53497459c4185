//! What a command does, for people who watch: reads, lists, searches.

use std::path::{Path, PathBuf};

use troupe_protocol::command::ParsedCommand;

use super::plain::plain_commands;
use super::script::{program_name, shell_script};

/// One entry per part that matters; the whole command if it is not plain.
pub fn describe(argv: &[String]) -> Vec<ParsedCommand> {
    let Some(script) = shell_script(argv) else {
        return vec![part(argv, None)];
    };
    let unknown = || {
        vec![ParsedCommand::Unknown {
            cmd: script.to_owned(),
        }]
    };
    let Ok(commands) = plain_commands(script) else {
        return unknown();
    };
    let mut directory: Option<PathBuf> = None;
    let mut parts = Vec::new();
    for argv in &commands {
        match words(argv)[..] {
            ["cd", to] => {
                directory = Some(directory.unwrap_or_default().join(to));
            }
            // What only shapes the output of another part is not worth a line.
            [name, ..] if commands.len() > 1 && only_formats(name, argv) => {}
            _ => parts.push(part(argv, directory.as_deref())),
        }
    }
    // One part that nobody understands makes the rest a wrong summary of the whole.
    let all_known = !parts
        .iter()
        .any(|part| matches!(part, ParsedCommand::Unknown { .. }));
    if all_known && !parts.is_empty() {
        parts
    } else {
        unknown()
    }
}

fn part(argv: &[String], directory: Option<&Path>) -> ParsedCommand {
    let cmd = joined(argv);
    let words = words(argv);
    let Some((name, arguments)) = words.split_first() else {
        return ParsedCommand::Unknown { cmd };
    };
    let operands = operands(name, arguments);
    match (program_name(name), &operands[..]) {
        ("cat" | "head" | "tail" | "nl" | "bat" | "less" | "more", [file]) | ("sed", [_, file]) => {
            read(cmd, directory, file)
        }
        ("ls" | "tree" | "du", paths) | ("git", ["ls-files", paths @ ..]) => {
            ParsedCommand::ListFiles {
                cmd,
                path: first(paths),
            }
        }
        ("rg", paths) if arguments.contains(&"--files") => ParsedCommand::ListFiles {
            cmd,
            path: first(paths),
        },
        ("rg" | "grep" | "egrep" | "fgrep" | "ag" | "ack", [query, paths @ ..])
        | ("git", ["grep", query, paths @ ..]) => ParsedCommand::Search {
            cmd,
            query: Some((*query).to_owned()),
            path: first(paths),
        },
        ("find" | "fd", _) => find(cmd, arguments),
        _ => ParsedCommand::Unknown { cmd },
    }
}

fn read(cmd: String, directory: Option<&Path>, file: &str) -> ParsedCommand {
    let path = directory.map_or_else(|| PathBuf::from(file), |directory| directory.join(file));
    let name = path
        .file_name()
        .map_or(file.into(), |name| name.to_string_lossy());
    ParsedCommand::Read {
        cmd,
        name: name.into_owned(),
        path,
    }
}

fn find(cmd: String, arguments: &[&str]) -> ParsedCommand {
    let acts =
        |word: &&str| word.starts_with("-exec") || word.starts_with("-ok") || *word == "-delete";
    if arguments.iter().any(acts) {
        return ParsedCommand::Unknown { cmd };
    }
    let path = arguments.first().filter(|word| !word.starts_with('-'));
    let path = path.map(|path| (*path).to_owned());
    let mut pairs = arguments.windows(2);
    let named = pairs.find(|pair| matches!(pair[0], "-name" | "-iname" | "-path" | "-regex"));
    match named {
        Some(pair) => ParsedCommand::Search {
            cmd,
            query: Some(pair[1].to_owned()),
            path,
        },
        None => ParsedCommand::ListFiles { cmd, path },
    }
}

fn only_formats(name: &str, argv: &[String]) -> bool {
    let without_file = operands(name, &words(&argv[1..])).is_empty();
    match program_name(name) {
        "echo" | "printf" | "true" | "wc" | "sort" | "uniq" | "cut" | "tr" | "column" => true,
        "head" | "tail" | "nl" | "cat" => without_file,
        _ => false,
    }
}

/// The arguments that are neither options nor values of the options of that command.
fn operands<'a>(name: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let valued: &[&str] = match program_name(name) {
        "head" | "tail" => &["-n", "-c"],
        "rg" | "grep" | "egrep" | "fgrep" | "git" => &[
            "-A",
            "-B",
            "-C",
            "-m",
            "-g",
            "-t",
            "-T",
            "--glob",
            "--type",
            "--max-count",
        ],
        "tree" => &["-L", "-I", "-P"],
        _ => &[],
    };
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        if argument == "--" {
            operands.extend(rest);
            break;
        }
        if valued.contains(&argument) {
            rest.next();
        } else if !argument.starts_with('-') || argument == "-" {
            operands.push(argument);
        }
    }
    operands
}

fn first(paths: &[&str]) -> Option<String> {
    paths.first().map(|path| (*path).to_owned())
}

fn words(argv: &[String]) -> Vec<&str> {
    argv.iter().map(String::as_str).collect()
}

fn joined(argv: &[String]) -> String {
    // Only a NUL cannot be quoted, and the display needs no quotes then.
    shlex::try_join(words(argv)).unwrap_or_else(|_| argv.join(" "))
}
