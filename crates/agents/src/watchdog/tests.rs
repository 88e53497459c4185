use std::fmt::Write;

use expect_test::{Expect, expect};

use super::*;

const ROOT: Caller = Caller::Agent(AgentId::ROOT);
const CHILD: AgentId = AgentId(3);

fn kept(by: Caller, target: AgentId, interval_s: u64, message: &str) -> TreeFact {
    TreeFact::Kept(AgentMetadata::Watchdog {
        by,
        target,
        interval_s,
        message: message.to_owned(),
    })
}

/// Sets up a timer as the supervisor does: if it may be, its fact is kept.
fn start(
    dogs: &mut WatchdogTimers,
    (by, target): (Caller, AgentId),
    interval_s: u64,
    message: &str,
    now_ms: i64,
) -> Result<WatchdogSlot, WatchdogError> {
    let place = dogs.check(by, target, interval_s, message)?;
    dogs.fold(&kept(by, target, interval_s, message), now_ms);
    Ok(place)
}

fn ended(agent: AgentId, end: TaskEnding) -> TreeFact {
    TreeFact::Ended {
        agent,
        task: "t".into(),
        end,
        callback: None,
    }
}

/// Plays a script on one tree: `start CALLER TARGET INTERVAL`, `cancel CALLER TARGET`,
/// `restore CALLER TARGET INTERVAL`, `pruned AGENT`, `cancelled AGENT`, `completed AGENT`,
/// `at SECOND`. Each line is answered by what came of it and by the next moment.
fn check(script: &str, expected: Expect) {
    let mut dogs = WatchdogTimers::default();
    let mut now_ms = 0;
    let mut told = String::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        let caller = |at: usize| match words[at] {
            "user" => Caller::User,
            _ => Caller::Agent(AgentId(number(at))),
        };
        let outcome = match words[0] {
            "start" => {
                let (by, target) = (caller(1), AgentId(number(2)));
                let interval_s = number(3).into();
                match start(&mut dogs, (by, target), interval_s, "how far?", now_ms) {
                    Ok(WatchdogSlot::Taken) => "replaced".to_owned(),
                    Ok(WatchdogSlot::Free) => "started".to_owned(),
                    Err(unfit) => unfit.to_string(),
                }
            }
            "cancel" => {
                let (by, target) = (caller(1), AgentId(number(2)));
                let was_set = dogs.is_set(by, target);
                dogs.fold(
                    &TreeFact::Kept(AgentMetadata::WatchdogOff { by, target }),
                    now_ms,
                );
                format!("{was_set}")
            }
            "restore" => {
                let (by, target) = (caller(1), AgentId(number(2)));
                dogs.fold(&kept(by, target, number(3).into(), "how far?"), now_ms);
                "-".to_owned()
            }
            "pruned" => {
                let agent = AgentId(number(1));
                dogs.fold(&TreeFact::Pruned { agent }, now_ms);
                "-".to_owned()
            }
            "cancelled" => {
                let (by, scope) = (ROOT, AgentId(number(1)));
                dogs.fold(&ended(scope, TaskEnding::Cancelled { by, scope }), now_ms);
                "-".to_owned()
            }
            "completed" => {
                dogs.fold(&ended(AgentId(number(1)), TaskEnding::Completed), now_ms);
                "-".to_owned()
            }
            "at" => {
                now_ms = i64::from(number(1)) * 1000;
                let pings = dogs.due(now_ms);
                let pings: Vec<String> = pings
                    .iter()
                    .map(|ping| format!("{:?} -> {}", ping.by, ping.target))
                    .collect();
                format!("{pings:?}")
            }
            other => panic!("no such step: {other}"),
        };
        let next = dogs.next_due().map(|due| due / 1000);
        writeln!(told, "{line}: {outcome}, next {next:?}").unwrap();
    }
    expected.assert_eq(&told);
}

#[test]
fn a_timer_pings_at_each_interval() {
    check(
        "start 0 3 30
         at 29
         at 30
         at 59
         at 60",
        expect![[r#"
            start 0 3 30: started, next Some(30)
            at 29: [], next Some(30)
            at 30: ["Agent(AgentId(0)) -> 3"], next Some(60)
            at 59: [], next Some(60)
            at 60: ["Agent(AgentId(0)) -> 3"], next Some(90)
        "#]],
    );
}

#[test]
fn pings_that_were_missed_are_one() {
    check(
        "start 0 3 30
         at 1000
         at 1001",
        expect![[r#"
            start 0 3 30: started, next Some(30)
            at 1000: ["Agent(AgentId(0)) -> 3"], next Some(1030)
            at 1001: [], next Some(1030)
        "#]],
    );
}

#[test]
fn each_caller_has_one_timer_for_an_agent() {
    check(
        "start 0 3 30
         start 1 3 60
         start user 3 90
         at 10
         start 0 3 40
         cancel 0 3
         cancel 0 3
         at 100",
        expect![[r#"
            start 0 3 30: started, next Some(30)
            start 1 3 60: started, next Some(30)
            start user 3 90: started, next Some(30)
            at 10: [], next Some(30)
            start 0 3 40: replaced, next Some(50)
            cancel 0 3: true, next Some(60)
            cancel 0 3: false, next Some(60)
            at 100: ["Agent(AgentId(1)) -> 3", "User -> 3"], next Some(160)
        "#]],
    );
}

#[test]
fn intervals_have_bounds() {
    check(
        "start 0 3 29
         start 0 3 0
         start 0 3 86401
         start 0 3 86400",
        expect![[r#"
            start 0 3 29: interval_s must be between 30 and 86400 seconds; got 29, next None
            start 0 3 0: interval_s must be between 30 and 86400 seconds; got 0, next None
            start 0 3 86401: interval_s must be between 30 and 86400 seconds; got 86401, next None
            start 0 3 86400: started, next Some(86400)
        "#]],
    );
}

#[test]
fn what_was_written_under_other_bounds_is_made_to_fit() {
    check(
        "restore 0 3 1
         restore 0 3 600
         restore 0 4 9000000",
        expect![[r#"
            restore 0 3 1: -, next Some(30)
            restore 0 3 600: -, next Some(600)
            restore 0 4 9000000: -, next Some(600)
        "#]],
    );
}

#[test]
fn agents_that_are_gone_neither_watch_nor_are_watched() {
    check(
        "start 0 3 30
         start 3 5 40
         start 0 5 50
         pruned 3",
        expect![[r#"
            start 0 3 30: started, next Some(30)
            start 3 5 40: started, next Some(30)
            start 0 5 50: started, next Some(30)
            pruned 3: -, next Some(50)
        "#]],
    );
}

#[test]
fn a_cancel_ends_the_timers_of_what_it_stopped_and_an_end_does_not() {
    check(
        "start 0 3 30
         start 3 5 40
         start 0 5 50
         completed 3
         cancelled 3",
        expect![[r#"
            start 0 3 30: started, next Some(30)
            start 3 5 40: started, next Some(30)
            start 0 5 50: started, next Some(30)
            completed 3: -, next Some(30)
            cancelled 3: -, next Some(50)
        "#]],
    );
}

#[test]
fn a_tree_has_at_most_sixteen() {
    let mut dogs = WatchdogTimers::default();
    for number in 1..=16 {
        start(&mut dogs, (ROOT, AgentId(number)), 30, "", 0).unwrap();
    }
    let refused = start(&mut dogs, (ROOT, AgentId(17)), 30, "", 0);
    assert_eq!(refused, Err(WatchdogError::TooMany));
    let replaced = start(&mut dogs, (ROOT, AgentId(16)), 60, "", 0);
    assert_eq!(replaced, Ok(WatchdogSlot::Taken));
}

#[test]
fn the_place_of_one_that_is_gone_is_free_also_when_the_facts_are_read_again() {
    let mut dogs = WatchdogTimers::default();
    for number in 1..=16 {
        dogs.fold(&kept(ROOT, AgentId(number), 30, ""), 0);
    }
    let agent = AgentId(1);
    dogs.fold(&TreeFact::Pruned { agent }, 0);
    dogs.fold(&kept(ROOT, AgentId(17), 30, ""), 0);
    assert!(!dogs.is_set(ROOT, agent));
    assert!(dogs.is_set(ROOT, AgentId(17)));
}

#[test]
fn a_message_has_at_most_two_thousand_characters() {
    let mut dogs = WatchdogTimers::default();
    let longest = "ü".repeat(MESSAGE_CHARS_MAX);
    start(&mut dogs, (ROOT, CHILD), 30, &longest, 0).unwrap();
    let longer = longest.clone() + "!";
    let refused = start(&mut dogs, (ROOT, CHILD), 30, &longer, 0);
    assert_eq!(refused, Err(WatchdogError::Message(2_001)));
    dogs.fold(&kept(ROOT, CHILD, 30, &longer), 0);
    assert_eq!(dogs.due(i64::MAX)[0].message, longest);
}
