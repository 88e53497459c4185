//! Prompts that are called by name: files, and those of MCP servers, in every face that takes a
//! prompt.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::machine::Machine;
use super::terminal::Terminal;

/// A server with one prompt, which takes an issue and perhaps a note.
const SERVER: &str = r#"
id() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id "$1")" "$2"; }
given() { printf '%s' "$2" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
while read -r line; do
  case $line in
    *'"initialize"'*) say "$line" '{"protocolVersion":"2025-06-18","capabilities":{"prompts":{}},"serverInfo":{"name":"ore","version":"1"}}' ;;
    *'"prompts/list"'*) say "$line" '{"prompts":[{"name":"fix-issue","description":"Mends an issue.","arguments":[{"name":"issue","required":true},{"name":"note"}]}]}' ;;
    *'"prompts/get"'*) say "$line" "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Mend issue $(given issue "$line"), noting: $(given note "$line").\"}}]}" ;;
  esac
done
"#;

/// A model that only knows what the filled prompts say.
const MODEL: &str = r#"
[[scene]]
when = "Mend issue 12, noting: it is slow."
[[scene.turn]]
steps = [{ say = "mended by the server's prompt" }]
[[scene.turn]]
expect = "Tidy the parser now."
steps = [{ say = "tidied by the file's prompt" }]
[[scene]]
when = "Tidy the parser now."
[[scene.turn]]
steps = [{ say = "tidied by the file's prompt" }]
"#;

fn machine() -> Machine {
    let machine = Machine::playing(MODEL);
    machine.write("project/server.sh", SERVER);
    machine.write(
        "home/config.toml",
        "[mcp_servers.ore]\ncommand = 'sh'\nargs = ['server.sh']\n",
    );
    machine.write(
        "project/.claude/commands/tidy.md",
        "---\ndescription: Tidies a part.\nargument-hint: <part>\n---\nTidy the $ARGUMENTS now.\n",
    );
    machine
}

#[test]
fn exec_fills_the_prompt_of_a_server() {
    let machine = machine();
    for called in [
        "/mcp__ore__fix-issue 12 it is slow",
        "/ore:fix-issue 12 'it is slow'",
    ] {
        let run = machine.run(&["exec", called]).succeeded();
        assert!(
            run.stdout.contains("mended by the server's prompt"),
            "{called}"
        );
    }
    let run = machine
        .run(&["exec", "/mcp__ore__fix-issue"])
        .failed_with(2);
    assert_eq!(
        run.stderr,
        "troupe: /mcp__ore__fix-issue needs issue: /mcp__ore__fix-issue <issue> [note]\n"
    );
    let run = machine.run(&["exec", "/mcp__ore__dig"]).failed_with(2);
    assert_eq!(
        run.stderr,
        "troupe: MCP server ore has no prompt dig; it has fix-issue\n"
    );
    let run = machine.run(&["exec", "/mcp__coal__dig"]).failed_with(2);
    assert!(
        run.stderr.contains("`troupe mcp` lists the servers"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_screen_offers_prompts_and_sends_what_they_stand_for() {
    let machine = machine();
    let screen = Terminal::running(&machine, &[]);
    screen.shows(&["Message, /command"]);
    screen.types(&["/mcp__"]);
    screen.shows(&["/mcp__ore__fix-issue"]);
    screen.types(&["Tab"]);
    screen.submits("12 it is slow");
    screen.shows(&["mended by the server's prompt"]);
    screen.submits("/tidy parser");
    screen.shows(&["tidied by the file's prompt"]);
    screen.submits("/tydi parser");
    screen.shows(&["there is no /tydi"]);
    screen.close();
}

/// An editor at `troupe acp`.
struct Editor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    ids: u64,
}

impl Editor {
    fn new(machine: &Machine) -> Self {
        let mut child = machine
            .troupe(&["acp"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            ids: 0,
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.stdin, "{message}").unwrap();
        id
    }

    /// Returns the first message that is meant.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if is_it(&message) {
                return message;
            }
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    fn opened(&mut self, params: &Value) -> Value {
        self.call("session/new", params)["result"]["sessionId"].take()
    }

    fn prompts(&mut self, session: &Value, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask(
            "session/prompt",
            &json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// Returns what is said until the prompt has ended.
    fn answer(&mut self) -> String {
        let mut said = String::new();
        loop {
            let message = self.until(|message| {
                assert!(message.get("error").is_none(), "{message}");
                let update = &message["params"]["update"];
                message["result"]["stopReason"] == "end_turn"
                    || update["sessionUpdate"] == "agent_message_chunk"
            });
            match message["params"]["update"]["content"]["text"].as_str() {
                Some(text) => said.push_str(text),
                None => return said,
            }
        }
    }

    fn update(&mut self, kind: &str) -> Value {
        self.until(|message| message["params"]["update"]["sessionUpdate"] == kind)["params"]
            ["update"]
            .take()
    }
}

#[test]
fn an_editor_is_told_the_commands_and_calls_them() {
    let machine = machine();
    let mut editor = Editor::new(&machine);
    editor.call(
        "initialize",
        &json!({"protocolVersion": 1, "clientCapabilities": {}}),
    );
    let params = json!({"cwd": machine.path("project"), "mcpServers": []});
    let session = editor.opened(&params);
    let told = editor.update("available_commands_update");
    assert_eq!(
        told["availableCommands"],
        json!([
            {"name": "tidy", "description": "Tidies a part.", "input": {"hint": "<part>"}},
            {"name": "mcp__ore__fix-issue", "description": "Mends an issue.",
             "input": {"hint": "<issue> [note]"}},
        ])
    );
    editor.prompts(&session, "/tidy parser");
    assert_eq!(editor.answer(), "tidied by the file's prompt");
    let other = editor.opened(&params);
    editor.prompts(&other, "/mcp__ore__fix-issue 12 it is slow");
    assert_eq!(editor.answer(), "mended by the server's prompt");
    let refused = editor.prompts(&other, "/mcp__ore__fix-issue");
    let refused = editor.until(|message| message["id"] == refused);
    let problem = refused["error"]["message"].to_string();
    assert!(problem.contains("needs issue"), "{problem}");
    drop(editor.stdin);
    assert!(editor.child.wait().unwrap().success());
}
