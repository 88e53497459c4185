//! The screenplay of the benchmark's model.

use std::fmt::Write as _;

use crate::app_server::{WAVE, WAVES};
use crate::limits::BENCH_UNANSWERED_MS;

pub const SHELL_CALLS: u32 = 50;
pub const DELTAS: u32 = 20_000;

/// Children of the tree that does real work.
pub const CHILDREN: u32 = 16;
const CALLS_OF_A_CHILD: usize = 3;
pub const SILENT_SECONDS: u32 = 10;
/// The fan-out that larger ones are compared with.
pub const FEW_CHILDREN: u32 = 250;
/// Children that are made one by one, to see what each takes until it asks its model.
pub const BIRTHS: u32 = 100;
/// Requests that a child of the crowd makes.
const TURNS_OF_THE_CROWD: usize = 20;
/// How often it says `many words` in each of them.
const WORDS_OF_THE_CROWD: usize = 40;

const CALL: &str =
    "[[scene.turn]]\nsteps = [{ call = \"exec_command\", arguments = { cmd = \"true\" } }]\n";
const TOUCH: &str =
    "[[scene.turn]]\nsteps = [{ call = \"exec_command\", arguments = { cmd = \"touch made\" } }]\n";
const HELLO: &str = "[[scene.turn]]\nsteps = [{ say = \"hello\" }]\n";

/// Returns the prompt that makes so many children.
pub fn spawn_prompt(children: u32, message: &str) -> String {
    format!("spawn {children} to {message}.")
}

/// The prompts of two parents that do as much by themselves; only one makes children.
pub const SPAWN_ONE_BY_ONE: &str = "spawn one by one";
pub const PLAN_AGAIN_AND_AGAIN: &str = "plan again and again";

/// What a child can be asked to do.
pub const ANSWER: &str = "answer at once";
pub const WORK: &str = "run three commands";
pub const KEEP_SILENT: &str = "keep silent for a while";
pub const REMEMBER: &str = "remember much";
const WAIT_FOR_THE_MODEL: &str = "wait for the model";

/// A call that does next to nothing.
const PLAN: &str = "{ call = \"update_plan\", arguments = { plan = \
                    [{ step = \"remember\", status = \"in_progress\" }] } }";

pub fn screenplay() -> String {
    let calls = CALL.repeat(SHELL_CALLS as usize);
    let waves = format!("{}{HELLO}", CALL.repeat(CALLS_OF_A_CHILD)).repeat(WAVES as usize);
    // A session that is resumed again and again plays on in its scene.
    let hellos = HELLO.repeat(1_000);
    // Not one word over and over: a model that repeats itself is stopped.
    let words: Vec<String> = (0..DELTAS).map(|number| format!("w{number} ")).collect();
    let words = words.concat();
    let mut play = format!(
        "[[scene]]\nwhen = \"run commands\"\n{calls}{HELLO}\
         [[scene]]\nwhen = \"run one command\"\n{CALL}{HELLO}\
         [[scene]]\nwhen = \"{WAVE}\"\n{waves}\
         [[scene]]\nwhen = \"write one file\"\n{TOUCH}{HELLO}\
         [[scene]]\nwhen = \"talk at length\"\n[[scene.turn]]\n\
         steps = [{{ say = \"{words}\" }}]\n"
    );
    play.push_str(&parents());
    play.push_str(&one_by_one());
    play.push_str(&children());
    play.push_str(&crate::screen::scenes());
    write!(play, "[[scene]]\n{hellos}").expect("text takes text");
    play
}

/// Those who make children. What they wait for is done when they answer; the others are
/// told of each child by a message.
fn parents() -> String {
    let waiting = [(CHILDREN, WORK), (1, ANSWER), (1, KEEP_SILENT)];
    let told = [FEW_CHILDREN, 500, 1_000].map(|count| (count, ANSWER));
    let crowds = [100, 1_000].map(|count| (count, REMEMBER));
    let mut play = String::new();
    for (count, message) in waiting {
        play.push_str(&parent(
            count,
            message,
            "",
            &format!("{}{HELLO}", waits(count)),
        ));
    }
    for (count, message) in told {
        let hellos = HELLO.repeat(count as usize + 1);
        play.push_str(&parent(count, message, "", &hellos));
    }
    for (count, message) in crowds {
        play.push_str(&parent(count, message, ", enable_callback = false", HELLO));
    }
    play
}

/// Those whose every turn is one call.
fn one_by_one() -> String {
    let spawn = format!(
        "{{ call = \"spawn_agent\", arguments = {{ message = \"{WAIT_FOR_THE_MODEL}\" }} }}"
    );
    let mut play = String::new();
    for (prompt, call) in [(SPAWN_ONE_BY_ONE, &*spawn), (PLAN_AGAIN_AND_AGAIN, PLAN)] {
        let turns = format!("[[scene.turn]]\nsteps = [{call}]\n").repeat(BIRTHS as usize);
        let last = format!("[[scene.turn]]\nsteps = [{{ pause_ms = {BENCH_UNANSWERED_MS} }}]\n");
        write!(play, "[[scene]]\nwhen = \"{prompt}\"\n{turns}{last}").expect("text takes text");
    }
    play
}

fn parent(count: u32, message: &str, choice: &str, then: &str) -> String {
    let prompt = spawn_prompt(count, message).replace('.', "\\\\.");
    let spawn = format!(
        "{{ call = \"spawn_agent\", arguments = {{ message = \"{message}\"{choice} }} }}, "
    );
    let spawns = spawn.repeat(count as usize);
    format!("[[scene]]\nwhen = \"{prompt}\"\n[[scene.turn]]\nsteps = [{spawns}]\n{then}")
}

/// One call per child, all in one answer: it is over when the last child is.
fn waits(count: u32) -> String {
    let mut steps = String::new();
    for child in 1..=count {
        write!(
            steps,
            "{{ call = \"wait\", arguments = {{ ids = [\"{child}\"] }} }}, "
        )
        .expect("text takes text");
    }
    format!("[[scene.turn]]\nsteps = [{steps}]\n")
}

fn children() -> String {
    let calls = CALL.repeat(CALLS_OF_A_CHILD);
    let silent_ms = SILENT_SECONDS * 1_000;
    let words = "many words ".repeat(WORDS_OF_THE_CROWD);
    let turn = format!("[[scene.turn]]\nsteps = [{{ say = \"{words}\", chunks = 1 }}, {PLAN}]\n");
    let turns = turn.repeat(TURNS_OF_THE_CROWD - 1);
    format!(
        "[[scene]]\nwhen = \"{WORK}\"\n{calls}{HELLO}\
         [[scene]]\nwhen = \"{KEEP_SILENT}\"\n[[scene.turn]]\n\
         steps = [{{ pause_ms = {silent_ms} }}, {{ say = \"hello\" }}]\n\
         [[scene]]\nwhen = \"{WAIT_FOR_THE_MODEL}\"\n[[scene.turn]]\n\
         steps = [{{ pause_ms = {BENCH_UNANSWERED_MS} }}]\n\
         [[scene]]\nwhen = \"{REMEMBER}\"\n{turns}{HELLO}"
    )
}
